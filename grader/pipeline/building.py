"""A program is built on a device, and compiled by a call where that is when its kernels are compiled."""

from __future__ import annotations

from grader.devices import CallBuilder, Device
from grader.pipeline.context import GradingContext, known_references
from grader.records import Build, JsonValue, Submission, Task


def build_on(
    grading: GradingContext, device: Device, submission: Submission, task: Task | None
) -> Build:
    """Return the program's build on the device."""
    build = device.build(submission, init_of(task))
    if task and build.status == "built" and isinstance(device, CallBuilder):
        return device.build_by_call(submission, build, task, known_references(grading, task))
    return build


def init_of(task: Task | None) -> tuple[JsonValue, ...] | None:
    """Return what the constructor of a task's first workload is called with."""
    return task.workloads[0].init if task and task.workloads else None
