"""The kinds of status, for colours and counts."""

from __future__ import annotations

from grader.records import Verdict

FAILED = frozenset({"fail", "unsound"})
"""Kinds that ask for a repair."""
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
    """Return the place of a status in a list that begins with the worst."""
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
    """Return what is known of a fix: where the task isn't known it runs, and nobody can say that it passes."""
    return ("runs" if status == "no_task" else "passes") if fixed else ""
