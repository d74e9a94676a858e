"""Comparison of a program with its reference in exact arithmetic, on request; not part of the verdict.

The comparison is of functions: results that depend on the inputs alone. It says nothing about a program whose results
depend on more.
"""

from __future__ import annotations

from grader import judge
from grader.devices import ExactDevice
from grader.errors import GraderError
from grader.judge.side_effects import UNSTEADY
from grader.judge.tolerance import element_count
from grader.pipeline.context import GradingContext, known_references
from grader.records import (
    DECIDING,
    Build,
    Evaluation,
    Exact,
    Status,
    Submission,
    Task,
    Workload,
)

ENOUGH = 64
"""Least number of input elements for a workload to be more than a corner case."""
NO_FUNCTION: dict[Status, str] = {
    "rejected": "the program is rejected: its results say nothing of what its kernels compute",
    "dishonest": "the program is dishonest: its results say nothing of what its kernels compute",
    "unsound": "the program is unsound: its results hang on more than its inputs",
}
COMPARED = frozenset({"correct", "incorrect", *NO_FUNCTION})
"""Statuses of programs that ran to their end and were compared; for others it would add nothing."""
BY_EARLIER_CALLS = "called alone it is right: its results hang on the calls before"


def exactness(
    grading: GradingContext, submission: Submission, task: Task, evaluation: Evaluation
) -> Exact | None:
    """Return the exact comparison for a program whose values were compared."""
    device, build = grading.device, evaluation.build
    if not grading.options.exact or evaluation.verdict.status not in COMPARED:
        return None
    if device is None or build is None:
        return None
    if not isinstance(device, ExactDevice):
        return None
    workload = _choose_workload(task, evaluation)
    if (why := _why_no_function(evaluation)) or workload is None:
        return _not_applicable(why or "no values that decide can be followed")
    try:
        said = device.exactly(submission, build, task, known_references(grading, task), workload)
        wrong = said.algebraic == "equal" and evaluation.verdict.status == "incorrect"
        if wrong and _is_right_alone(grading, submission, build, task, workload):
            return _not_applicable(BY_EARLIER_CALLS)
    except GraderError:  # it only explains; the verdict is valid without it
        return None
    return said


def add_exact(evaluation: Evaluation, exact: Exact | None) -> Evaluation:
    """Add the exact comparison, and its sentence to the verdict's reasons."""
    if exact is None:
        return evaluation
    reasons = dict.fromkeys((*evaluation.verdict.reasons, *filter(None, [exact.sentence])))
    verdict = evaluation.verdict.model_copy(update={"reasons": tuple(reasons)})
    return evaluation.model_copy(update={"exact": exact, "verdict": verdict})


def withdraw_exact(evaluation: Evaluation) -> Evaluation:
    """Withdraw the result for a program that turned out to be no function of its inputs."""
    why = _why_no_function(evaluation)
    return add_exact(evaluation, _not_applicable(why)) if evaluation.exact and why else evaluation


def _not_applicable(why: str) -> Exact:
    return Exact(algebraic="not applicable", workload="", reason=why)


def _why_no_function(evaluation: Evaluation) -> str:
    """Return the observation that a program is no function of its inputs; "" where it may be one."""
    unsteady = (item.text for item in evaluation.probes if item.code in UNSTEADY)
    return NO_FUNCTION.get(evaluation.verdict.status) or next(unsteady, "")


def _is_right_alone(
    grading: GradingContext, submission: Submission, build: Build, task: Task, workload: Workload
) -> bool:
    """Whether a program that was wrong on a workload is right if called on that workload alone."""
    if grading.device is None:
        return False
    known = known_references(grading, task)
    alone = task.model_copy(update={"workloads": (workload,)})
    results = grading.device.run(submission, build, alone, known)
    return any(
        result.run.status == "ran" and judge.compare(task, workload, known, result).equal
        for result in results
    )


def _choose_workload(task: Task, evaluation: Evaluation) -> Workload | None:
    """Return the smallest workload that decides: of a wrong program, of those on which its values are wrong."""
    roles = {w.name: w for w in task.judged if w.role in DECIDING}
    counted = [item for item in evaluation.comparisons if item.decides and item.workload in roles]
    wrong = [item for item in counted if not item.equal]
    if any(item.mismatch and item.mismatch.form for item in wrong):
        return None  # another shape, type or device is no question of arithmetic
    if evaluation.verdict.status == "incorrect" and not wrong:
        return None  # wrong at other sizes, or by its side effects
    deciding = [roles[item.workload] for item in wrong or counted]
    few = [w for w in deciding if element_count(w) >= ENOUGH] or deciding
    return min(few, key=element_count, default=None)
