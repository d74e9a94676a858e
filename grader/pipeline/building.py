"""A program is built on a device, and compiled by a call where that is when its kernels are compiled."""

from __future__ import annotations

import contextlib
import threading

from grader.devices import CallBuilder, Device
from grader.pipeline.context import GradingContext, known_references
from grader.pipeline.problem_names import with_problem_names
from grader.records import Build, JsonValue, Submission, Task
from grader.source import parse


def build_on(
    grading: GradingContext, device: Device, submission: Submission, task: Task | None
) -> Build:
    """Return the program's build on the device.

    One that was not done in time is not begun again: it may have been begun ahead, and what is left for it now is less.
    """
    key = device.build_key(submission)
    with grading.turns.of(key):
        build = grading.late_builds.get(key) or device.build(submission, init_of(task))
        if build.status == "timeout":
            grading.late_builds[key] = build
    if task and build.status == "built" and isinstance(device, CallBuilder):
        return device.build_by_call(submission, build, task, known_references(grading, task))
    return build


def init_of(task: Task | None) -> tuple[JsonValue, ...] | None:
    """Return what the constructor of a task's first workload is called with."""
    return task.workloads[0].init if task and task.workloads else None


def build_meanwhile(grading: GradingContext, submission: Submission, draft: Task) -> None:
    """Begin to build a program whose task is still to be described; `build_on` waits for it, and takes it up.

    One that compiles in its constructor waits for what the task constructs it with.
    """
    device = grading.device
    whole = with_problem_names(submission, draft)
    if device is None or all(one.in_function for one in parse(whole.code).extensions):
        return

    def begin() -> None:
        with contextlib.suppress(Exception):  # whoever asks for it next hears of it
            build_on(grading, device, whole, None)

    threading.Thread(target=begin, daemon=True).start()
