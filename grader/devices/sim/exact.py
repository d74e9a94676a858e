"""A program and its task's reference in exact arithmetic: equal but for rounding, or not shown to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from grader.judge import References, groups
from grader.records import Build, JsonValue, Submission, Task, Workload, digest
from grader.sandbox import GuestJob, GuestResult
from grader.simulator import fields

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

SETTINGS = {"exact": 1, "check_races": 0, "count_lines": 0}


@dataclass(frozen=True)
class Exactly:
    """What exact arithmetic says of a program beside the reference, on one workload."""

    fact: Literal["equal", "not shown", "not applicable"]
    reason: str = ""
    elements: int = 0
    unequal: int = 0
    constants: int = 0
    """Elements of the reference's results that are constants on this path: a ReLU's zeros."""


def exactly(
    device: Simulator,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    workload: Workload,
) -> Exactly:
    """Compare a program with its reference on a workload in exact arithmetic.

    Raises:
        GraderError: the device can't be used any more.

    """
    group = next(g for g in groups(task.judged) if workload in g.workloads)
    job = device.job(submission, build, group, (workload,), references)
    expected = _result(device, replace(job, code=task.reference, entry="Model", artifact=None))
    if expected.status != "ran":
        return Exactly("not applicable", f"the reference: {expected.status} {expected.reason}")
    if unknown := _operators(expected):
        return Exactly("not applicable", f"the reference has {', '.join(unknown)}")
    found = _result(device, job)
    if found.status != "ran":
        return Exactly("not shown", f"{found.status} {found.reason}")
    return _compared(found, expected)


def _result(device: Simulator, job: GuestJob) -> GuestResult:
    simulator = fields.mapping(job.options["simulator"])
    key = int(digest("exact", str(job.seed))[:15], 16)
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **SETTINGS},
        "exact": key,
    }
    reply = device.observe(replace(job, options=options), device.limits(device.options.run_seconds))
    if not reply.results:
        return GuestResult(job.workloads[0].name, "not_run", reply.reason)
    return reply.results[0]


def _told(result: GuestResult) -> dict[str, JsonValue]:
    seen = fields.mapping(result.report).get("simulator")
    return fields.mapping(fields.mapping(seen).get("exact"))


def _operators(result: GuestResult) -> list[str]:
    given = _told(result).get("operators")
    return [str(one)[:80] for one in given[:20]] if isinstance(given, list) else []


def _compared(found: GuestResult, expected: GuestResult) -> Exactly:
    ours, theirs = found.outputs, expected.outputs
    if len(ours) != len(theirs):
        return Exactly("not shown", "another number of results")
    elements = unequal = constants = 0
    for one, other, known in zip(ours[::2], theirs[::2], theirs[1::2], strict=True):
        if one.array.shape != other.array.shape:
            return Exactly("not shown", "results of another shape")
        elements += other.array.size
        unequal += int(np.sum(one.array != other.array))
        constants += int(np.sum(known.array == 0))
    if constants == elements:
        return Exactly("not applicable", "the reference's results are constants on this path")
    if not unequal:
        return Exactly("equal", "", elements, 0, constants)
    missing = [*_operators(found), fields.text(_told(found).get("instructions"), 300)]
    reason = ", ".join(filter(None, missing))
    return Exactly("not shown", reason, elements, unequal, constants)
