"""One workload of a wrong program once more, on a simulator that keeps where values come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.judge import References, groups
from grader.records import Build, JsonValue, Submission, Task, Workload
from grader.simulator import fields

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

Element = tuple[int, int]
"""Number of an output, and flat index in it."""
SETTINGS: Mapping[str, JsonValue] = {
    "provenance": 1,
    "check_races": 0,
    "count_lines": 0,
}


def provenance(
    device: Simulator,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    workload: Workload,
    asked: Sequence[Element],
) -> JsonValue:
    """Return what the simulator tells of these elements of a workload's outputs; None where it can't.

    Raises:
        GraderError: the device can't be used any more.

    """
    group = next(g for g in groups(task.judged) if any(w.name == workload.name for w in g.workloads))
    job = device.job(submission, build, group, (workload,), references)
    simulator = fields.mapping(job.options["simulator"])
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **SETTINGS},
        "origins": {workload.name: [list(one) for one in asked]},
    }
    reply = device.observe(
        replace(job, options=options), device.limits(device.options.run_seconds)
    )
    report = reply.results[0].report if reply.results else None
    return fields.mapping(fields.mapping(report).get("simulator")).get("provenance")
