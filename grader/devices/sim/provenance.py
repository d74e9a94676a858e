"""One workload of a wrong program, run again on the simulator with provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.devices.base import LargerLaunch, Traced
from grader.judge import References, groups
from grader.records import Build, JsonValue, Submission, Task, Workload
from grader.simulator import fields
from grader.simulator.reader import MOST_FINDINGS

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

SETTINGS: Mapping[str, JsonValue] = {
    "provenance": 1,
    "check_races": 0,
    "count_lines": 0,
}


def trace(
    device: Simulator,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    workload: Workload,
    asked: Sequence[tuple[int, int]] = (),
    larger: LargerLaunch | None = None,
) -> Traced:
    """Return the provenance of these elements (output, flat index) of a workload's outputs.

    With `larger` no provenance is recorded, and launches have more blocks or threads than the program's.

    Raises:
        GraderError: the device can't be used any more.

    """
    group = next(
        g for g in groups(task.judged) if any(w.name == workload.name for w in g.workloads)
    )
    job = device.job(submission, build, group, (workload,), references)
    simulator = fields.as_mapping(job.options["simulator"])
    grown = (
        {"provenance": 0, "larger": larger.number, "larger_kernel": larger.kernel} if larger else {}
    )
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **SETTINGS, **grown},
        "origins": {workload.name: [list(one) for one in asked]},
    }
    reply = device.observe(replace(job, options=options), device.limits(device.options.run_seconds))
    if not reply.results or reply.results[0].status != "ran":
        return Traced()
    result = reply.results[0]
    simulator = fields.as_mapping(fields.as_mapping(result.report).get("simulator"))
    core = fields.as_mapping(simulator.get("core"))
    kinds = frozenset(
        str(one.get("kind")) for one in fields.entries(core.get("findings"), MOST_FINDINGS)
    )
    outputs = tuple(output.array for output in result.outputs)
    return Traced(outputs, simulator.get("provenance"), kinds)
