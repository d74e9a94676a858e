"""Findings and evidence to root causes; mends to see further."""

from grader.diagnose.deepen import deepen, gather, mends, try_fixes
from grader.diagnose.program import Evaluate, Examine, Program, wrong_share

__all__ = [
    "Evaluate",
    "Examine",
    "Program",
    "deepen",
    "gather",
    "mends",
    "try_fixes",
    "wrong_share",
]
