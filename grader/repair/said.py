"""Sentences on how far a search for a fix got."""

from __future__ import annotations

from grader.diagnose import Program
from grader.diagnose.gather import Way
from grader.records import Evaluation


def how_far(first: Program, best: Program, used: int, small: int) -> str:
    """Return how far a search without a result got: the tried changes, the nearest program, and where it is right.

    `first` is the submission as it is; `used` is the number of evaluations, `small` that of small changes. Changes after
    which it ends as before, on no more workloads right, are no advice; nor are those with a proven error of their own.
    """
    graded = f"{used or 'no'} changed program{'s' if used != 1 else ''} graded in full"
    tried = f"{small} small changes tried, {graded}" if small else graded
    if not best.fixes or not _nearer(first, best) or faulty(first, best):
        right = "" if best.fixes else _say_passed(best.evaluation)
        return f"No change of this code was found that makes it right ({tried}). {right}".strip()
    labels = "; ".join(fix.label for _, fix in best.fixes)
    return f"No change was found that makes it right ({tried}). Nearest: {labels}. {_say_passed(best.evaluation)}".strip()


def _nearer(first: Program, best: Program) -> bool:
    more = len(_right_results(best.evaluation)) > len(_right_results(first.evaluation))
    return more or best.stage > first.stage


def faulty(first: Program, changed: Program) -> bool:
    """Whether runs prove an error at a line that the changes wrote."""
    start = first.submission
    written = Way(start.code, changed.submission.code, start.line_map).changed
    return any(
        finding.place is not None and finding.place.line in written
        for finding in changed.findings
        if finding.severity == "error" and finding.confidence == "proven"
    )


def _say_passed(evaluation: Evaluation) -> str:
    """Return on how many workloads it is right, and the first where it is wrong; empty where none was compared."""
    right = _right_results(evaluation)
    wrong = [item.workload for item in evaluation.comparisons if item.decides and not item.equal]
    if not right or not wrong:
        return ""
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return (
        f"Right on {len(right)} of {len(right) + len(wrong)} workloads; wrong on {wrong[0]}{more}."
    )


def _right_results(evaluation: Evaluation) -> list[str]:
    return [item.workload for item in evaluation.comparisons if item.decides and item.equal]
