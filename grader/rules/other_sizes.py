"""Findings that show only at sizes other than the task's become remarks, since the submission solves the task."""

from collections.abc import Iterable, Iterator

from grader.records import Context, Finding
from grader.records.observed import RUN_KINDS, wrong_results

SURE = frozenset(
    {
        "misaligned",
        "shared-out-of-bounds",
        "barrier-divergence",
        "barrier-exited",
        "shuffle-absent-lane",
        "sync-lane-not-in-mask",
        "sync-exited-lanes",
        "launch-error",
        "launch-error-unseen",
    }
)
"""Kinds that depend on sizes alone, which did not occur where they weren't seen."""
SHOWN = ("mismatch", "probe", *RUN_KINDS)


def as_remarks(findings: Iterable[Finding], context: Context) -> Iterator[Finding]:
    """Yield the findings, as warnings if only workloads of other sizes show them.

    Where a result is wrong at the task's own sizes, what is seen elsewhere may explain it; an address that only
    other sizes misalign, a barrier that only there some threads miss, or a launch that only there fails, may not: where results were wrong it was in place.
    """
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    wrong = bool(wrong_results(context))
    for finding in findings:
        shown = [item for item in finding.evidence if item.kind in SHOWN]
        elsewhere = bool(shown) and all(item.workload in others for item in shown)
        apart = all(
            item.kind in RUN_KINDS and item.code.replace("_", "-") in SURE for item in shown
        )
        if finding.severity == "error" and elsewhere and (apart or not wrong):
            yield finding.model_copy(update={"severity": "warning"})
        else:
            yield finding
