"""The kinds of status, for colours and counts."""

from __future__ import annotations

from grader.records import Verdict

FAILED = frozenset({"fail", "unsound"})
"""Groups for which a repair is searched."""
NARROW = "correct but not in general"
_KINDS = {
    "correct": "pass",
    NARROW: "warning",
    "unsound": "unsound",
    "no_code": "none",
    "no_task": "none",
    "not_run": "none",
    "grader_error": "ours",
}

_WORST_FIRST = (
    "rejected", "dishonest", "incorrect", "crashed", "hung", "build_failed", "build_timeout", "timeout", "unsound",
    "grader_error", "not_run", "no_task", "no_code", "correct",
)  # fmt: skip


def in_words(status: str, general: bool | None) -> str:
    """Return a status as it is shown and counted: what is right with the task's own sizes and weights alone is told apart."""
    return NARROW if status == "correct" and general is False else status


def rank(status: str) -> int:
    """Return the rank of a status, the worst first."""
    return _WORST_FIRST.index(status) if status in _WORST_FIRST else 0


def group(status: str) -> str:
    """Return the kind of a status, or of one in words: `pass`, `warning`, `unsound`, `fail`, `none` (nothing to judge), `ours` (our failure)."""
    return _KINDS.get(status, "fail")


def say_rightness(verdict: Verdict) -> str:
    """Return in a word whether the results are right; `by luck` for an unsound program."""
    if verdict.status == "unsound":
        return "by luck"
    return {True: "yes", False: "no", None: "-"}[verdict.correct]


def fix_in_a_word(status: str, *, fixed: bool) -> str:
    """Return a fix's outcome in a word: `passes`, or `runs` where the task is unknown."""
    return ("runs" if status == "no_task" else "passes") if fixed else ""
