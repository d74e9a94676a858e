"""Smaller sizes for a program that takes too long: it may do the square of what the reference does.

Sizes are chosen by what the reference costs on a simulator, so an answer that sums a whole image for each of
its pixels does not get through. It is asked again where the reference does a small part of that work; what is
wrong there is wrong, unless it is a size that the answer writes into its code that makes it so.
"""

from __future__ import annotations

from grader.pipeline.context import GradingContext
from grader.pipeline.written_sizes import Judge, asked_anew, at_written_sizes, written
from grader.records import RIGHT_VALUES, Evaluation, Submission, Task
from grader.tasks.scale import floor_at, sizes_of

SHARE = 1 / 64
"""Of the usual work of the reference."""
TOLD = RIGHT_VALUES | {"incorrect", "crashed"}
"""Verdicts of smaller sizes that say something of the program."""


def at_sizes_that_fit(
    grading: GradingContext,
    task: Task,
    submission: Submission,
    evaluation: Evaluation,
    judged: Judge,
) -> tuple[Task, Evaluation]:
    """Return how a program is judged at other sizes, where the usual ones don't tell; else what was given."""
    if evaluation.verdict.status == "timeout" and task.source != "builtin":
        found = _at_smaller_sizes(grading, task, submission, judged)
        if found is not None:
            return found
    return at_written_sizes(grading, task, submission, evaluation, judged)


def _at_smaller_sizes(
    grading: GradingContext, task: Task, submission: Submission, judged: Judge
) -> tuple[Task, Evaluation] | None:
    """Return the task at smaller sizes and the verdict there; None where it says nothing."""
    note = "the answer took too long at the usual sizes: it is judged at smaller ones"
    asked = asked_anew(grading, task, note, SHARE)
    if asked is None or asked.workloads[0] == task.workloads[0]:
        return None
    evaluation = judged(asked)
    if evaluation.verdict.status not in TOLD:
        return None
    if evaluation.verdict.status in RIGHT_VALUES:
        return asked, evaluation
    return _wrong_there(grading, asked, submission, evaluation, judged)


def _wrong_there(
    grading: GradingContext,
    task: Task,
    submission: Submission,
    evaluation: Evaluation,
    judged: Judge,
) -> tuple[Task, Evaluation] | None:
    """Return what is left of a bad verdict once sizes that the answer writes have been asked about."""
    statuses: list[str] = []

    def watched(other: Task) -> Evaluation:
        found = judged(other)
        statuses.append(found.verdict.status)
        return found

    found = at_written_sizes(grading, task, submission, evaluation, watched, SHARE)
    doubtful = bool(sizes_of(task.reference, floor_at(SHARE)) & written(submission))
    return None if (doubtful and not statuses) or "timeout" in statuses else found
