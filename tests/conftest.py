"""Settings of the property tests.

The suite's verdict on a commit depends on the commit alone: by default each property is tried on
the same drawn examples every time. `HYPOTHESIS_PROFILE=search pytest` draws new ones; what it finds
becomes an `@example` beside the property.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, database=None)
settings.register_profile("search", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
