"""One workload of a program under changes of its kernels' code, in one guest of the simulator."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.devices.base import Changed
from grader.judge import References, groups
from grader.records import Build, JsonValue, Submission, Task, Workload
from grader.sandbox import GuestResult
from grader.simulator import fields

if TYPE_CHECKING:
    from grader.devices.sim.device import Simulator

VALUES_ALONE: Mapping[str, JsonValue] = {"check_races": 0, "count_lines": 0, "report_lines": 0}
MOST = 64
"""Most programs that are read."""
MOST_PROGRAM = 4 << 20
"""Most bytes of a program."""


def run_changed(
    device: Simulator,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    workload: Workload,
    asked: JsonValue,
) -> Changed:
    """Return a workload's outputs under each change, and the launched programs.

    Raises:
        GraderError: the device can't be used any more.

    """
    group = next(
        g for g in groups(task.judged) if any(w.name == workload.name for w in g.workloads)
    )
    job = device.job(submission, build, group, (workload,), references)
    simulator = fields.as_mapping(job.options["simulator"])
    options: dict[str, JsonValue] = {
        **job.options,
        "simulator": {**simulator, **VALUES_ALONE},
        "changes": {workload.name: asked},
    }
    env = {**job.env, "DISABLE_LLVM_OPT": "1"}
    reply = device.observe(
        replace(job, options=options, env=env), device.limits(device.options.run_seconds)
    )
    if not reply.results or reply.results[0].status != "ran":
        return Changed()
    result = reply.results[0]
    return Changed(tuple(output.array for output in result.outputs), *_programs(result))


def _programs(
    result: GuestResult,
) -> tuple[tuple[bytes, ...], float, JsonValue]:
    seen = fields.as_mapping(fields.as_mapping(result.report).get("simulator"))
    seconds = seen.get("changed_seconds")
    told = seen.get("programs")
    programs = tuple(
        _unpack_program(str(one)) for one in (told if isinstance(told, list) else [])[:MOST]
    )
    spent = float(seconds) if isinstance(seconds, int | float) else 0.0
    return programs, spent, seen.get("passed")


def _unpack_program(text: str) -> bytes:
    """Return a program's bytes; none where the guest sent something invalid."""
    try:
        return zlib.decompressobj().decompress(base64.b64decode(text), MOST_PROGRAM)
    except (ValueError, zlib.error):
        return b""
