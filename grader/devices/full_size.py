"""A correct program at the size that the task names, on the simulator: values of its first block.

The judge's sizes are small, and a program can tell. So it is called once at full size: tensors are
as large as they claim to be (memory that nobody touches costs nothing), the first rows of the
inputs hold values, and the first block of each launch runs. What it wrote is compared. Where a
result may come from blocks that were left out, it says nothing. (Launches that are refused at full
size are the rehearsal's.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.base import RunResult
from grader.judge import Group, compare
from grader.judge.conduct import probe
from grader.judge.honesty import TO_THE_HOST, computing, names_of
from grader.judge.part import FullSizePart
from grader.records import Build, Evidence, Mismatch, Run, Submission, Task
from grader.sandbox import GuestJob, GuestReply, GuestResult, Limits, Part
from grader.simulator.report import api_calls
from grader.source import parse

if TYPE_CHECKING:
    from grader.devices.sim import Simulator

BLOCKS = 1
"""Blocks of each launch that run: the first, whose inputs are the first rows."""
SECONDS = 60.0
MEMORY = 3 << 30
"""Bytes that may really be used."""
CLAIMED = 1 << 40
"""Bytes that may be asked for."""
COPYING = frozenset({"clone", "copy_", "_to_copy"})
FILLED, STORED = 1, 2
"""How an element was written: by a fill or a copy, or by a kernel."""


def full_size(
    device: Simulator, submission: Submission, build: Build, task: Task, part: FullSizePart
) -> tuple[Evidence, ...]:
    """Return evidence of what goes wrong at full size; nothing where nothing can be said.

    A guest that can't be started or has no time shows nothing either.
    """
    sampling = replace(device, blocks=BLOCKS)
    job = _job(sampling, submission, build, part)
    limits = Limits(wall=SECONDS, memory=MEMORY, claimed=CLAIMED)
    reply = sampling.converse(job, limits)
    if reply.status == "grader_error" or not reply.results:
        return ()
    result = reply.results[0]
    run = sampling.record(part.full, result, reply, parse(submission.code))
    return _wrong_values(task, part, run, reply)


def _job(device: Simulator, submission: Submission, build: Build, part: FullSizePart) -> GuestJob:
    name = part.workload.name
    given = part.references.inputs[name]
    arguments = tuple(
        Part(value, _rows_of(part, i)) if i in part.cut and isinstance(value, np.ndarray) else value
        for i, value in enumerate(given)
    )
    group = Group(part.full.init, part.full.weights, (part.workload,))
    job = device.job(submission, build, group, (part.workload,), part.references)
    loads = tuple(replace(w, args=arguments, rows=part.rows) for w in job.workloads)
    return replace(job, workloads=loads)


def _rows_of(part: FullSizePart, position: int) -> int:
    shape: Sequence[int] = getattr(part.full.inputs[position], "shape", (0,))
    return shape[0]


def _wrong_values(
    task: Task, part: FullSizePart, run: Run, reply: GuestReply
) -> tuple[Evidence, ...]:
    """Compare what was written, where it can only come from inputs and blocks that were there."""
    result = reply.results[0]
    if run.status != "ran" or len(result.outputs) != 3 or computing([run]):
        return ()
    values, how, stored = result.outputs
    expected = part.references.expected[part.workload.name].native[0]
    if values.array.shape != expected.shape or how.array.shape != expected.shape:
        return ()
    launches = sum(launch.count for launch in run.launches)
    if launches == 0:
        return _without_a_launch(task, part, run, result)
    if launches != 1 or run.evidence or any(count.atomics for count in run.counts):
        return ()
    kernel = run.launches[0].kernel
    idle = not sum(count.stores for count in run.counts)
    if (how.array == FILLED).all() and (idle or not (stored.array.any() or copies(run, result))):
        text = f"{kernel} writes nothing, and what is returned is how the memory was filled"
        return _incorrect(part, text) if _differs(task, part, run, result) else ()
    looked_at = how.array == STORED
    seen = np.where(looked_at, values.array, expected.astype(values.array.dtype))
    worst = _differs(task, part, run, replace(result, outputs=(replace(values, array=seen),)))
    if worst is None:
        return ()
    text = (
        f"{kernel} writes wrong values: of the {int(looked_at.sum())} elements that were looked at, "
        f"the worst at {list(worst.worst_index)} is {worst.worst_value:.6g} where the reference has "
        f"{worst.worst_reference:.6g}"
    )
    return _incorrect(part, text)


def _without_a_launch(
    task: Task, part: FullSizePart, run: Run, result: GuestResult
) -> tuple[Evidence, ...]:
    """Judge what a program returns that launches nothing at this size: filled or copied memory."""
    if not result.outputs[1].array.any():
        return _incorrect(part, "it launches nothing and returns memory that nobody wrote")
    helped = TO_THE_HOST & names_of([run]) or any(
        name.startswith("cublas") for name in api_calls(result.report)
    )
    if helped or _differs(task, part, run, result) is None:
        return ()
    return _incorrect(part, "it launches nothing, and what it returns is wrong")


def _differs(task: Task, part: FullSizePart, run: Run, result: GuestResult) -> Mismatch | None:
    """Return how the first rows differ from the reference's; None where they don't."""
    first = replace(result, outputs=result.outputs[:1])
    found = compare(task, part.workload, part.references, RunResult(run, first))
    return None if found.equal or not found.counts else found.mismatch


def copies(run: Run, result: GuestResult) -> bool:
    """Whether values may have come to the result by a copy, which is nobody's store."""
    calls = api_calls(result.report)
    return bool(COPYING & names_of([run])) or any("Memcpy" in name for name in calls)


def _incorrect(part: FullSizePart, what: str) -> tuple[Evidence, ...]:
    text = f"at {part.full.name}, the task's full size, {what}"
    return (probe("full-size", text, part.full.name),)
