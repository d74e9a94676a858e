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


def group(status: str) -> str:
    """Return the status's kind: `pass`, `unsound`, `fail`, `none` (nothing to judge), `ours` (our failure)."""
    return _KINDS.get(status, "fail")


def right(verdict: Verdict) -> str:
    """Return in a word whether the results are right; `by luck` for an unsound program."""
    if verdict.status == "unsound":
        return "by luck"
    return {True: "yes", False: "no", None: "-"}[verdict.correct]
