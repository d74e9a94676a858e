"""A right program on the first rows of the task's own size, whole: every launch with all its blocks, torch's operators too.

Where rows don't depend on each other, all dims but the first are the task's own. Asked of programs that a block alone says nothing of:
several launches, or torch beside a kernel. What takes too long, or ends otherwise than with a result, says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.devices.base import RunResult
from grader.errors import GraderError
from grader.execution.full_size_part import FullSizePart
from grader.judge import compare
from grader.judge.compare import roughly_equal
from grader.judge.side_effects import FIRST_ROWS, probe
from grader.records import Build, Comparison, Evidence, Submission, Task, TensorSpec

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

SECONDS = 12.0
"""Wall time of the run, at most."""


def first_rows(
    device: Simulator, submission: Submission, build: Build, task: Task, part: FullSizePart
) -> tuple[Evidence, ...]:
    """Return evidence that the rows are right, or wrong beyond what sums of that length lose; nothing where neither is known."""
    workload = part.workload.model_copy(update={"role": "nominal"})
    only = task.model_copy(update={"workloads": (workload,)})
    seconds = min(SECONDS, device.options.run_seconds)
    brief = replace(device, options=device.options.model_copy(update={"run_seconds": seconds}))
    try:
        (result,) = brief.run(submission, build, only, part.references)
    except GraderError:
        return ()
    if result.run.status != "ran":
        return ()
    found, size = compare(only, workload, part.references, result), part.full.name
    where = f"the first {part.rows} rows" if part.rows > 1 else "the first row"
    if found.equal:
        return (probe(FIRST_ROWS, f"at {size}, {where} of the result are right", size),)
    if not found.decides or found.mismatch is None or _inexact(found, part, result):
        return ()
    if any(is_square(task, number) for number in part.cut):
        return ()
    text = f"on {where} of {size}, the task's own size, {found.mismatch.text}"
    return (probe("full-size", text, size),)


def is_square(task: Task, number: int) -> bool:
    """Whether an input has a dim as long as its first one wherever it is asked: a program may take one length for both, and rows alone are no such input."""
    given = [one.inputs[number] for one in task.workloads]
    shapes = [tuple(item.shape) for item in given if isinstance(item, TensorSpec)]
    return all(shape.count(shape[0]) > 1 for shape in shapes if shape)


def _inexact(found: Comparison, part: FullSizePart, result: RunResult) -> bool:
    """Whether it may be that sums of the task's own length are less exact than those of the sizes that decide.

    One thread that adds up 258064 numbers is off by 1.7e-4: right, if slow and coarse.
    """
    if found.kernelbench_equal or found.mismatch is None or found.mismatch.kind != "values":
        return bool(found.kernelbench_equal)
    arrays = [output.array for output in result.outputs]
    return roughly_equal(part.references.expected[part.workload.name], arrays)
