"""From findings and evidence to root causes, with fixes applied to reach later failures."""

from grader.diagnose.deepen import deepen, fixes, try_fixes
from grader.diagnose.gather import gather
from grader.diagnose.headline import headline
from grader.diagnose.program import Examiner, Program, wrong_share
from grader.diagnose.self_review import self_review

__all__ = [
    "Examiner",
    "Program",
    "deepen",
    "fixes",
    "gather",
    "headline",
    "self_review",
    "try_fixes",
    "wrong_share",
]
