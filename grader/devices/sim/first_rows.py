"""A right program on the first rows of the task's own size, run completely: every launch with all blocks, and torch's operators.

Where rows don't depend on each other, all dims but the first are the task's own. It is used for programs where one
block is inconclusive: several launches, or torch beside a kernel. A run that takes too long, or ends without a result,
is inconclusive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.devices.base import RunResult
from grader.errors import GraderError
from grader.execution.full_size_part import FullSizePart
from grader.judge import compare
from grader.judge.compare import roughly_equal
from grader.judge.side_effects import FIRST_ROWS, WRONG_AT_FULL_SIZE, probe
from grader.records import Build, Comparison, Evidence, Submission, Task, TensorSpec

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

SECONDS = 12.0
"""Most wall time of the run."""


def first_rows(
    device: Simulator, submission: Submission, build: Build, task: Task, part: FullSizePart
) -> tuple[Evidence, ...]:
    """Return evidence that the rows are right, or wrong beyond the rounding of sums of that length; None if inconclusive."""
    workload = part.workload.model_copy(update={"role": "nominal"})
    only = task.model_copy(update={"workloads": (workload,)})
    seconds = min(SECONDS, device.options.run_seconds)
    options = device.options.model_copy(update={"run_seconds": seconds})
    brief = replace(device.for_values, options=options)
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
    return (probe(WRONG_AT_FULL_SIZE, text, size),)


def is_square(task: Task, number: int) -> bool:
    """Whether an input has another dim as long as its first one at all sizes: a program may use one length for both, which cut rows break."""
    given = [one.inputs[number] for one in task.workloads]
    shapes = [tuple(item.shape) for item in given if isinstance(item, TensorSpec)]
    return all(shape.count(shape[0]) > 1 for shape in shapes if shape)


def _inexact(found: Comparison, part: FullSizePart, result: RunResult) -> bool:
    """Whether sums of the task's own length may be less exact than those of the deciding sizes.

    One thread that adds up 258064 numbers is off by 1.7e-4: right, if slow and coarse.
    """
    if found.kernelbench_equal or found.mismatch is None or found.mismatch.kind != "values":
        return bool(found.kernelbench_equal)
    arrays = [output.array for output in result.outputs]
    return roughly_equal(part.references.expected[part.workload.name], arrays)
