"""The kinds of status, for colours and counts."""

from __future__ import annotations

_KINDS = {
    "correct": "pass",
    "no_code": "none",
    "no_task": "none",
    "not_run": "none",
    "grader_error": "ours",
}


def group(status: str) -> str:
    """Return the status's kind: `pass`, `fail`, `none` (nothing to judge), `ours` (our failure)."""
    return _KINDS.get(status, "fail")
