"""Settings of the property tests.

The suite's verdict on a commit depends on the commit alone: by default each property is tried on
the same drawn examples every time, however long a busy machine takes over them.
`HYPOTHESIS_PROFILE=search pytest` draws new ones; what it finds becomes an `@example` beside the
property.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest
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


def pytest_xdist_auto_num_workers() -> int:
    """Have one worker more than cores: a third of a worker's time is waiting; with two more the whole takes longer."""
    from grader.machine import cores

    return cores() + 1


def pytest_configure() -> None:
    """Leave garbage alone while tests are collected: all of it stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take the tests and all that they import out of every later search for garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def builds_shared_by_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile a program once for all tests: each has a store of its own, and builds lie in one folder by content."""
    from grader.devices.guests import GuestDevice

    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared-builds"
    shared.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GuestDevice, "artifacts", property(lambda _device: shared))
        yield
