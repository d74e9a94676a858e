"""How far a search for a fix got, in words."""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnose import Program
from grader.diagnose.gather import Way
from grader.records import Evaluation


def how_far(first: Program, best: Program, used: int, said: Sequence[str]) -> str:
    """Return how far a search without a result got: what was tried, what came nearest, where that is right.

    `first` is the submission as it is; `used` is the number of evaluations; `said` is what else there is to say of the
    search. Changes with a proven error of their own are no advice, however near they came.
    """
    tried = f"{used} candidate change{'s' if used != 1 else ''} evaluated"
    tried = "; ".join((tried, *said))
    if not best.fixes or faulty(first, best):
        right = "" if best.fixes else _passed(best.evaluation)
        return f"No change of this code was found that makes it right ({tried}). {right}".strip()
    labels = "; ".join(fix.label for _, fix in best.fixes)
    return (
        f"Not fixed ({tried}). Nearest: {labels}. After that it is {_state(best.evaluation)} "
        f"{_passed(best.evaluation)}"
    ).strip()


def faulty(first: Program, changed: Program) -> bool:
    """Whether runs prove an error at a line that the changes wrote."""
    start = first.submission
    written = Way(start.code, changed.submission.code, start.line_map).changed
    return any(
        finding.place is not None and finding.place.line in written
        for finding in changed.findings
        if finding.severity == "error" and finding.confidence == "proven"
    )


def _state(evaluation: Evaluation) -> str:
    return f"{evaluation.verdict.status}: {evaluation.verdict.sentence}"


def _passed(evaluation: Evaluation) -> str:
    """Return which workloads are right, in a sentence; empty where none was compared."""
    counted = [item for item in evaluation.comparisons if item.decides]
    right = [item.workload for item in counted if item.equal]
    wrong = [item.workload for item in counted if not item.equal]
    if not right or not wrong:
        return ""
    return f"Right on {', '.join(right)}; wrong on {', '.join(wrong)}."
