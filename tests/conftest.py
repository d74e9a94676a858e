"""Settings of the property tests.

The suite's verdict on a commit depends on the commit alone: by default each property is tried on
the same drawn examples every time, however long a busy machine takes over them.
`HYPOTHESIS_PROFILE=search pytest` draws new ones; what it finds becomes an `@example` beside the
property.
"""

import os
import signal
import sys
import tempfile

from hypothesis import HealthCheck, settings

UNTIMED = settings(deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.register_profile("steady", UNTIMED, derandomize=True, database=None)
settings.register_profile("search", UNTIMED, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# What tests start as programs of their own is compiled once, wherever that is forbidden beside the sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault(
    "PYTHONPYCACHEPREFIX", f"{tempfile.gettempdir()}/kernel-grader-bytecode-{os.geteuid()}"
)
# And so are the tests themselves, a third of whose collection is pytest's rewriting of asserts.
sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what it runs in the background; programs that the tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
