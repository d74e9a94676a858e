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
from grader.judge.honesty import computing
from grader.judge.inputs import Array
from grader.judge.part import FullSizePart
from grader.records import Build, Evidence, Run, Submission, Task
from grader.sandbox import GuestJob, GuestReply, Limits, Part
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
    if run.status != "ran" or len(result.outputs) != 2 or computing([run]):
        return ()
    values, written = result.outputs
    expected = part.references.expected[part.workload.name].native[0]
    if values.array.shape != expected.shape or written.array.shape != expected.shape:
        return ()
    launches = sum(launch.count for launch in run.launches)
    if launches == 0 and not written.array.any():
        text = f"at {part.full.name}, the task's full size, it launches nothing and returns memory that nobody wrote"
        return (probe("full-size", text, part.full.name),)
    if launches != 1 or run.evidence or any(count.atomics for count in run.counts):
        return ()
    looked_at = written.array.astype(bool) & ~_filled(values.array, written.array.astype(bool))
    seen = np.where(looked_at, values.array, expected.astype(values.array.dtype))
    shown = replace(result, outputs=(replace(values, array=seen),))
    found = compare(task, part.workload, part.references, RunResult(run, shown))
    if found.equal or not found.counts or found.mismatch is None:
        return ()
    worst = found.mismatch
    text = (
        f"at {part.full.name}, the task's full size, {run.launches[0].kernel} writes wrong values: "
        f"of the {int(looked_at.sum())} elements that were looked at, the worst at "
        f"{list(worst.worst_index)} is {worst.worst_value:.6g} where the reference has "
        f"{worst.worst_reference:.6g}"
    )
    return (probe("full-size", text, part.full.name),)


def _filled(values: Array, written: Array) -> Array:
    """Return a mask of what may be an initial fill (`torch::zeros`) that no block came to replace.

    One block doesn't write everything: where something is unwritten, there was no fill.
    """
    if not written.all():
        return np.zeros(values.shape, np.bool_)
    found, counts = np.unique(values[written], return_counts=True)
    mask = np.asarray(values == 0)
    if found.size and counts.max() > written.sum() / 2:
        mask |= np.asarray(values == found[counts.argmax()])
    return mask
