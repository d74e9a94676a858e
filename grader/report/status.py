"""The kinds of status, for colours and counts."""

from __future__ import annotations

from grader.records import Verdict

FAILED = frozenset({"fail", "unsound"})
"""Groups for which a repair is searched."""
_KINDS = {
    "correct": "pass",
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


def rank(status: str) -> int:
    """Return the rank of a status, the worst first."""
    return _WORST_FIRST.index(status) if status in _WORST_FIRST else 0


def group(status: str) -> str:
    """Return the status's kind: `pass`, `unsound`, `fail`, `none` (nothing to judge), `ours` (our failure)."""
    return _KINDS.get(status, "fail")


def right(verdict: Verdict) -> str:
    """Return in a word whether the results are right; `by luck` for an unsound program."""
    if verdict.status == "unsound":
        return "by luck"
    return {True: "yes", False: "no", None: "-"}[verdict.correct]


def fix_in_a_word(status: str, *, fixed: bool) -> str:
    """Return a fix's outcome in a word: `passes`, or `runs` where the task is unknown."""
    return ("runs" if status == "no_task" else "passes") if fixed else ""
