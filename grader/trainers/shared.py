"""One grader for each set of options, shared by all rollouts of this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from grader import config
from grader.reward import Grader


def grader_for(options: Mapping[str, Any]) -> Grader:
    """Return the grader with these options (those of the command line, by name), opened at the first call.

    Raises UsageError for an unknown option, GraderError where this machine can't grade.
    """
    return _open_grader(json.dumps(dict(options), sort_keys=True))


@lru_cache(8)
def _open_grader(options: str) -> Grader:
    chosen, _ = config.load(json.loads(options), origin="option")
    return Grader(chosen)
