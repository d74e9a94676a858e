"""A program beside its reference in exact arithmetic, where that is asked for; no verdict hangs on it."""

from __future__ import annotations

from grader.devices import ExactDevice
from grader.errors import GraderError
from grader.judge.tolerance import element_count
from grader.pipeline.context import GradingContext, known_references
from grader.records import DECIDING, Evaluation, Exact, Submission, Task, Workload

ENOUGH = 64
"""Elements of the inputs from which on a workload shows more than a corner case."""
ASKED = frozenset({"correct", "incorrect", "unsound"})
"""Verdicts of programs that ran to their end and were compared: of others it would say nothing new."""


def exactness(
    grading: GradingContext, submission: Submission, task: Task, evaluation: Evaluation
) -> Exact | None:
    """Return what exact arithmetic says of a program whose values were compared."""
    device, build = grading.device, evaluation.build
    workload = _choose_workload(task, evaluation)
    told = evaluation.verdict.status in ASKED
    if not grading.options.exact or not told or workload is None:
        return None
    if device is None or build is None:
        return None
    if not isinstance(device, ExactDevice):
        return None
    try:
        return device.exactly(submission, build, task, known_references(grading, task), workload)
    except GraderError:  # it explains, and the verdict is valid without it
        return None


def _choose_workload(task: Task, evaluation: Evaluation) -> Workload | None:
    """Return the smallest workload that decides: of a wrong program, of those on which its values are wrong."""
    roles = {w.name: w for w in task.judged if w.role in DECIDING}
    counted = [item for item in evaluation.comparisons if item.decides and item.workload in roles]
    wrong = [item for item in counted if not item.equal]
    if any(item.mismatch and item.mismatch.form for item in wrong):
        return None  # another shape, type or device: that is no question of arithmetic
    if evaluation.verdict.status == "incorrect" and not wrong:
        return None  # by what it does from call to call, of which one call says nothing
    deciding = [roles[item.workload] for item in wrong or counted]
    few = [w for w in deciding if element_count(w) >= ENOUGH] or deciding
    return min(few, key=element_count, default=None)
