"""compute-sanitizer around a separate guest, to find why a program went wrong on a GPU.

It doesn't use torch's caching allocator, which hides the bounds of tensors: each tensor is a separate allocation. A run
under a tool takes many times as long. It only decides whether right values are sound (`grader.judge.soundness`), if a
right program is examined, with `--sanitize`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.devices.base import Sanitized
from grader.devices.cuda.sanitizer_log import read, to_evidence
from grader.devices.guests import GuestDevice
from grader.judge import Group, References, clean
from grader.judge.tolerance import element_count
from grader.records import DECIDING, Build, Evaluation, Submission, Task, TensorSpec, Workload
from grader.sandbox import GuestReply
from grader.source import parse

ALL = ("memcheck", "racecheck", "initcheck", "synccheck")
TOOLS: Mapping[str, tuple[str, ...]] = {
    "crashed": ("memcheck",),
    "hung": ("synccheck",),
    "incorrect": ALL,
}
"""Tools that can find the cause, by the verdict's status."""
SECONDS = 60.0
"""Most wall time of a program under one tool."""
HUNG_SECONDS = 15.0
"""The same for a program that never ends, where a deadlock is seen when it begins or not at all."""
NO_CACHING = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def program() -> Path | None:
    """Return the path of compute-sanitizer, or None where it isn't installed."""
    named = shutil.which("compute-sanitizer")
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    places = [Path(named)] if named else [home / "bin" / "compute-sanitizer"]
    return next((place for place in places if place.exists()), None)


def tools_for(status: str, wish: bool | None) -> tuple[str, ...]:
    """Return the tools that can explain a verdict; all or none if requested."""
    if wish is None:
        return TOOLS.get(status, ())
    return ALL if wish else ()


def sanitize(
    device: GuestDevice,
    submission: Submission,
    build: Build,
    references: References,
    workload: Workload,
    tools: tuple[str, ...],
    seconds: float = SECONDS,
) -> Sanitized:
    """Run one workload once more under each of the tools.

    Raises:
        GraderError: the device can't be used any more.

    """
    if not build.key:
        return Sanitized()
    sanitizer = program()
    if sanitizer is None:
        return Sanitized(notes=("compute-sanitizer is not installed: its checks were not run",))
    source = parse(submission.code)
    under = partial(_under, device, sanitizer, seconds, submission, build, workload, references)
    with ThreadPoolExecutor(len(tools)) as pool:
        replies = list(pool.map(under, tools))
    found = (e for reply in replies for e in to_evidence(read(reply.log), source, workload.name))
    notes = (note for pair in zip(tools, replies, strict=True) for note in _note(*pair))
    return Sanitized(tuple(found), tuple(notes))


def telling_workload(task: Task, evaluation: Evaluation) -> Workload | None:
    """Return the smallest wrong workload, a deciding one if there is one.

    Otherwise return the deciding one with the least round sizes, where tails are most likely wrong. A defect at other
    sizes only would be no more than a remark.
    """
    bad = {run.workload for run in evaluation.runs if run.status not in {"ran", "not_run"}}
    bad |= {item.workload for item in evaluation.comparisons if not item.equal}
    wrong = [workload for workload in task.judged if workload.name in bad]
    looked_at = wrong or task.judged
    deciding = [workload for workload in looked_at if workload.role in DECIDING]
    order = element_count if wrong else _roundness
    return min(deciding or looked_at, key=order, default=None)


def is_examined(evaluation: Evaluation, workload: Workload) -> bool:
    """Whether the checker has seen each access of it, and found a reason or only wrong values."""
    if not all(clean(run) for run in evaluation.checked):
        return True
    ran = any(run.workload == workload.name and run.status == "ran" for run in evaluation.checked)
    return ran and evaluation.verdict.status == "incorrect"


def _roundness(workload: Workload) -> tuple[int, int]:
    """Return the number of the inputs' dims that are multiples of half a warp, and their sizes."""
    tensors = (item for item in workload.inputs if isinstance(item, TensorSpec))
    even = sum(dim % 16 == 0 for tensor in tensors for dim in tensor.shape)
    return even, element_count(workload)


def _under(
    device: GuestDevice,
    sanitizer: Path,
    seconds: float,
    submission: Submission,
    build: Build,
    workload: Workload,
    references: References,
    tool: str,
) -> GuestReply:
    group = Group(workload.init, workload.weights, (workload,))
    job = device.job(submission, build, group, (workload,), references)
    calls = tuple(replace(call, deadline=seconds) for call in job.workloads)
    under = (str(sanitizer), "--tool", tool, "--print-limit", "200", "--show-backtrace", "no")
    return device.observe(
        replace(job, workloads=calls, under=under, env={**job.env, **NO_CACHING}),
        device.limits(seconds + device.limits(seconds).start),
    )


def _note(tool: str, reply: GuestReply) -> Iterator[str]:
    """Return a note where a tool gave no summary, since it failed or was too slow."""
    if "ERROR SUMMARY" not in reply.log and "RACECHECK SUMMARY" not in reply.log:
        why = reply.reason or "it printed no summary"
        yield f"compute-sanitizer's {tool} did not finish: {why[:200]}"
