"""Builds a program on a device, by a call where its kernels are compiled in one."""

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

    A build that timed out is not repeated: it may have been started ahead, with more time than is left now.
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
    """Return the constructor's arguments in a task's first workload."""
    return task.workloads[0].init if task and task.workloads else None


def build_meanwhile(grading: GradingContext, submission: Submission, draft: Task) -> None:
    """Start building a program in the background while its task is described; `build_on` waits for the result.

    A program that compiles in its constructor waits for the task's arguments.
    """
    device = grading.device
    whole = with_problem_names(submission, draft)
    if device is None or all(one.in_function for one in parse(whole.code).extensions):
        return

    def begin() -> None:
        with contextlib.suppress(Exception):  # the next caller of this build gets the error
            build_on(grading, device, whole, None)

    threading.Thread(target=begin, daemon=True).start()
