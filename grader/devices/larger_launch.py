"""A program with wrong elements runs again with larger launches: if one makes more of them right, the launch is too small."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.devices.base import Device, LargerLaunch
from grader.devices.capabilities import Tracer
from grader.devices.provenance import telling_workload, wrong_masks
from grader.errors import GraderError
from grader.judge import References
from grader.judge.inputs import Array
from grader.languages import read
from grader.records import (
    DECIDING,
    Build,
    Comparison,
    Evidence,
    LaunchEnlarged,
    Place,
    Run,
    Submission,
    Task,
    Workload,
)
from grader.source import Source, parse

Masks = Sequence[tuple[int, Array]]
BLOCKS = (LargerLaunch("x"), LargerLaunch("y"), LargerLaunch("z"))
THREADS = (LargerLaunch("x", "block"), LargerLaunch("y", "block"))
"""Axes tried only for CUDA kernels, since a block compiler (Triton) fixes the number of threads."""
WRITTEN_FOR_FEWER = frozenset({"shared-out-of-bounds"})
"""Kinds which show that a kernel is written for its number of threads: its own memory is too small for more."""
MOST_KERNELS = 3
"""Number of a program's last kernels whose launches are enlarged."""


def enlarge_launches(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    runs: Sequence[Run],
) -> tuple[Evidence, ...]:
    """Return the launch that makes more elements right with one more block, or with twice the threads.

    Empty where none does, or where the device can't do it or fails.
    """
    in_part = [one for one in comparisons if one.mismatch and one.mismatch.fraction < 1]
    workload = telling_workload(task, in_part or comparisons)
    if workload is None or not isinstance(device, Tracer):
        return ()

    def find_wrong(larger: LargerLaunch | None = None) -> Wrong | None:
        """Return what is wrong; None where the run ended early, or the enlarged launch is invalid."""
        traced = device.trace(submission, build, task, references, workload, larger=larger)
        known = traced.outputs and not (larger and WRITTEN_FOR_FEWER & traced.kinds)
        masks = wrong_masks(task, workload, references, traced.outputs) if known else ()
        return Wrong(masks, traced.outputs) if known else None

    source = parse(submission.code)
    # Where the task's own sizes are right, a block has enough threads.
    sizes = (*BLOCKS, *(THREADS if source.cuda and workload.role in DECIDING else ()))
    kernels = _launched_kernels(runs, workload)[-MOST_KERNELS:]
    tried = [replace(one, kernel=kernel) for one in sizes for kernel in reversed(kernels)]
    try:
        before = find_wrong()
        for one in tried if before and before.masks else ():
            left = _count_still_wrong(before, find_wrong(one)) if before else None
            if before and left is not None:
                return (_evidence(one, before.count, left, source, workload, runs),)
    except GraderError:  # an explanation is missing then, the verdict is still valid
        pass
    return ()


def _launched_kernels(runs: Sequence[Run], workload: Workload) -> list[str]:
    """Return the names of the kernels that a workload launched, without template arguments."""
    every = (one for run in runs if run.workload == workload.name for one in run.launches)
    names = (re.sub(r"[<(].*", "", one.kernel).rsplit("::", 1)[-1] for one in every)
    return list(dict.fromkeys(name.split(" ")[-1] for name in names))


@dataclass(frozen=True)
class Wrong:
    """The results of a run, and which of their elements are wrong; a result that is right as a whole has no mask."""

    masks: Masks
    outputs: Sequence[Array]

    @property
    def count(self) -> int:
        """How many elements are wrong."""
        return sum(int(mask.sum()) for _, mask in self.masks)


def _count_still_wrong(before: Wrong, after: Wrong | None) -> int | None:
    """Return the number of elements that stay wrong, if some become right and no right one changes; None otherwise.

    Where right ones change too, the further block does more than what was left out: what comes right by that was near.
    """
    if after is None:
        return None
    masks = dict(before.masks)
    pairs = enumerate(zip(before.outputs, after.outputs, strict=True))
    changed = any(
        np.any(_differ(one, other) & ~masks.get(n, np.zeros(one.shape, bool)))
        for n, (one, other) in pairs
    )
    return None if changed or after.count >= before.count else after.count


def _differ(one: Array, other: Array) -> Array:
    """Return which elements are others, of which those that are no numbers count as equal."""
    return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))


def _evidence(
    larger: LargerLaunch,
    wrong: int,
    left: int,
    source: Source,
    workload: Workload,
    runs: Sequence[Run],
) -> Evidence:
    more = (
        f"one block more along {larger.axis}"
        if larger.of == "grid"
        else f"twice the threads along {larger.axis}"
    )
    every = (
        f"all {wrong} wrong elements"
        if not left
        else f"{wrong - left} of the {wrong} wrong elements"
    )
    return Evidence(
        kind="probe",
        code="larger-launch",
        text=f"{_as_launched(larger.kernel, workload, runs)}; with {more}, and nothing else changed, {every} come right",
        place=next(_places(source, larger.kernel), None),
        workload=workload.name,
        kernel=larger.kernel,
        details=LaunchEnlarged(axis=larger.axis, of=larger.of, wrong=wrong, left=left),
    )


def _as_launched(kernel: str, workload: Workload, runs: Sequence[Run]) -> str:
    every = [one for run in runs if run.workload == workload.name for one in run.launches]
    launch = next((one for one in reversed(every) if kernel in one.kernel), None)
    if launch is None:
        return f"{kernel} is launched too small"
    blocks, threads = (" x ".join(map(str, size)) for size in (launch.grid, launch.block))
    return f"{kernel} is launched as {blocks} blocks of {threads} threads"


def _places(source: Source, kernel: str) -> Iterator[Place]:
    for reading in read(source):
        yield from (one.place for one in reading.launches if one.name.rsplit("::", 1)[-1] == kernel)
