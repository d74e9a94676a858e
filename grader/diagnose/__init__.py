"""Findings and evidence to root causes; mends to see further."""

from grader.diagnose.deepen import deepen, gather, mends, try_fixes
from grader.diagnose.headline import headline
from grader.diagnose.program import Evaluate, Examine, Program, wrong_share

__all__ = [
    "Evaluate",
    "Examine",
    "Program",
    "deepen",
    "gather",
    "headline",
    "mends",
    "try_fixes",
    "wrong_share",
]
