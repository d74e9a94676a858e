"""A correct program at the task's own size, on the simulator: values of its first block.

The judge's sizes are small, and a program can detect that. So it is called once at full size: tensors have their real
size (untouched memory costs nothing), the first rows of the inputs have values, and the first block of each launch
runs. Its stores are compared; so are those of blocks elsewhere (`other_blocks`). Where a result may come from blocks
that did not run, the check is inconclusive. (The dry run covers launches that are refused at full size.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.devices.base import RunResult
from grader.devices.sim import other_blocks
from grader.execution.full_size_part import FullSizePart
from grader.judge import Group, clean, compare
from grader.judge.honesty import TO_THE_HOST, computing_operators, in_forward, names_of
from grader.judge.side_effects import COMPARED, WRONG_AT_FULL_SIZE, probe
from grader.machine import free_memory
from grader.records import Build, Evidence, JsonValue, Mismatch, Run, Submission, Task
from grader.sandbox import GuestJob, GuestResult, Part
from grader.simulator.report import api_calls
from grader.source import parse

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

BLOCKS = 1
"""Number of blocks of each launch that run: the first, whose inputs are the first rows."""
SECONDS = 60.0
MEMORY = 3 << 30
"""Most resident bytes; if not enough, an ordinary guest's limit, provided the machine has twice as much free."""
CLAIMED = 1 << 40
"""Most bytes that may be reserved."""
COPYING = frozenset({"clone", "copy_", "_to_copy"})
FILLED, STORED = 1, 2
"""Ways in which an element was written: by a fill or a copy, or by a kernel."""


def full_size(
    device: Simulator, submission: Submission, build: Build, task: Task, part: FullSizePart
) -> tuple[Evidence, ...]:
    """Return evidence of errors at full size; none if inconclusive.

    A guest that can't be started or runs out of time is inconclusive too.
    """
    sampling = replace(device, blocks=BLOCKS)
    most = replace(device.limits(SECONDS), claimed=CLAIMED)
    limits = replace(most, memory=min(MEMORY, most.memory))
    job = _job(sampling, submission, build, part)

    def look(job: GuestJob) -> tuple[Run, GuestResult] | None:
        reply = sampling.converse(job, limits)
        if reply.out_of_memory and free_memory() > 2 * most.memory:
            reply = sampling.converse(job, most)
        if reply.status == "grader_error" or not reply.results:
            return None
        run = sampling.record(part.full, reply.results[0], reply, parse(submission.code))
        # Values of a part are computed from it by the grader.
        own = {"operators": in_forward(run.operators)}
        return run.model_copy(update=own), reply.results[0]

    seen = look(job)
    if seen is None or (found := _wrong_values(task, part, *seen)) or not _of_one_launch(*seen):
        return found if seen else ()
    right = _right_values(part, *seen)
    (launch,), stored = seen[0].launches, int(seen[1].outputs[2].array)
    whole = _rows_of(part, min(part.cut))
    few = other_blocks.run_all(launch, stored, _size_of(part, seen[1], whole))
    every = look(_with_blocks(job, few)) if few else None
    if every and (found := _wrong_with_all(task, part, *every)):
        return found
    where = (
        other_blocks.place(launch, stored, part.rows, whole, part.references.seed)
        if part.anywhere
        else None
    )
    again = look(_elsewhere(job, where)) if where else None
    return (again and _wrong_elsewhere(task, part, stored, whole, *again)) or right


def _right_values(part: FullSizePart, run: Run, result: GuestResult) -> tuple[Evidence, ...]:
    """Return evidence on the number of compared elements that a kernel stored at full size, where all were right."""
    if run.status != "ran" or computing_operators([run]):
        return ()
    looked_at = int((result.outputs[1].array == STORED).sum())
    text = f"at {part.full.name}, {looked_at} elements that a first block of the kernel stored are right"
    return (probe(COMPARED, text, part.full.name),) if looked_at else ()


def _size_of(part: FullSizePart, result: GuestResult, whole: int) -> int:
    """Return the bytes of the whole result."""
    return int(result.outputs[0].array.nbytes) // part.rows * whole


def _with_blocks(job: GuestJob, settings: Mapping[str, JsonValue]) -> GuestJob:
    simulator: Any = job.options["simulator"]
    return replace(job, options={**job.options, "simulator": {**simulator, **settings}})


def _wrong_with_all(
    task: Task, part: FullSizePart, run: Run, result: GuestResult
) -> tuple[Evidence, ...]:
    """Compare all of the first rows, since no other block is left that may write there."""
    if run.status != "ran" or not _of_one_launch(run, result):
        return ()
    worst = _differs(task, part, run, result)
    if worst is None:
        return ()
    text = (
        f"{run.launches[0].kernel} leaves results as they were: with all its blocks run, the worst at "
        f"{list(worst.worst_index)} is {worst.worst_value:.6g} where the reference has {worst.worst_reference:.6g}"
    )
    return _incorrect(part, text)


def _elsewhere(job: GuestJob, where: other_blocks.Place) -> GuestJob:
    """Return the job with the rows at another position, and other blocks."""
    (load,) = job.workloads
    args = tuple(replace(a, at=where.at) if isinstance(a, Part) else a for a in load.args)
    moved = replace(job, workloads=(replace(load, args=args, at=where.at),))
    return _with_blocks(moved, where.settings)


def _wrong_elsewhere(
    task: Task, part: FullSizePart, first: int, whole: int, run: Run, result: GuestResult
) -> tuple[Evidence, ...]:
    """Compare the stores of other blocks, and check whether all blocks can write the whole result."""
    if run.status != "ran" or computing_operators([run]) or not _of_one_launch(run, result):
        return ()
    values, how, stored = result.outputs
    expected = part.references.expected[part.workload.name].native[0]
    if values.array.shape != expected.shape or how.array.shape != expected.shape:
        return ()
    (launch,) = run.launches
    worst = _wrong_stores(task, part, run, result)
    if worst is not None:
        return _incorrect(part, worst)
    size = _size_of(part, result, whole)
    pairs = zip(values.array.shape, values.strides, strict=True)
    expanded = any(length > 1 and stride == 0 for length, stride in pairs)
    filled = bool((how.array == FILLED).any()) or expanded or copies(run, result)
    text = "" if filled else other_blocks.shortfall(launch, first, int(stored.array), size)
    return _incorrect(part, text) if text else ()


def _of_one_launch(run: Run, result: GuestResult) -> bool:
    """Whether all stores come from one launch with independent blocks."""
    launches = sum(launch.count for launch in run.launches)
    atomic = any(count.atomics for count in run.counts)
    return launches == 1 and len(result.outputs) == 3 and clean(run) and not atomic


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
    task: Task, part: FullSizePart, run: Run, result: GuestResult
) -> tuple[Evidence, ...]:
    """Compare the written elements, where they can only depend on the given inputs and executed blocks."""
    if run.status != "ran" or len(result.outputs) != 3 or computing_operators([run]):
        return ()
    values, how, stored = result.outputs
    expected = part.references.expected[part.workload.name].native[0]
    if values.array.shape != expected.shape or how.array.shape != expected.shape:
        return ()
    launches = sum(launch.count for launch in run.launches)
    if launches == 0:
        return _without_a_launch(task, part, run, result)
    if not _of_one_launch(run, result):
        return ()
    kernel = run.launches[0].kernel
    idle = not sum(count.stores for count in run.counts)
    if (how.array == FILLED).all() and (idle or not (stored.array.any() or copies(run, result))):
        text = f"{kernel} writes nothing, and what is returned is how the memory was filled"
        return _incorrect(part, text) if _differs(task, part, run, result) else ()
    worst = _wrong_stores(task, part, run, result)
    return _incorrect(part, worst) if worst else ()


def _wrong_stores(task: Task, part: FullSizePart, run: Run, result: GuestResult) -> str | None:
    """Return how the kernel's stores to the rows differ from the reference's; None if they don't."""
    values, how, _ = result.outputs
    expected = part.references.expected[part.workload.name].native[0]
    looked_at = how.array == STORED
    seen = np.where(looked_at, values.array, expected.astype(values.array.dtype))
    worst = _differs(task, part, run, replace(result, outputs=(replace(values, array=seen),)))
    if worst is None:
        return None
    return (
        f"{run.launches[0].kernel} writes wrong values: of the {int(looked_at.sum())} elements that "
        f"were looked at, the worst at {list(worst.worst_index)} is {worst.worst_value:.6g} where "
        f"the reference has {worst.worst_reference:.6g}"
    )


def _without_a_launch(
    task: Task, part: FullSizePart, run: Run, result: GuestResult
) -> tuple[Evidence, ...]:
    """Judge the result of a program without launches at this size: filled or copied memory."""
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
    return None if found.equal or not found.decides else found.mismatch


def copies(run: Run, result: GuestResult) -> bool:
    """Whether the result's values may come from a copy, which is not a store."""
    calls = api_calls(result.report)
    return bool(COPYING & names_of([run])) or any("Memcpy" in name for name in calls)


def _incorrect(part: FullSizePart, what: str) -> tuple[Evidence, ...]:
    text = f"at {part.full.name}, the task's full size, {what}"
    return (probe(WRONG_AT_FULL_SIZE, text, part.full.name),)
