"""Soundness, whatever the device: the same program on a device that checks each access, beside one that doesn't.

A GPU computes right values through a race; the simulator sees the race. What it proves holds for the program, so it is
asked while the GPU is busy. What it can't run, or ends otherwise there, is said and never charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from grader.devices import Device
from grader.errors import GraderError
from grader.pipeline.building import build_on
from grader.pipeline.context import GradingContext, known_references
from grader.records import Run, Submission, Task

Checked = Callable[[], tuple[Run, ...]]
"""Waits for the runs of the device that checks."""


@contextmanager
def checked_beside(
    grading: GradingContext, submission: Submission, task: Task | None, *, closely: bool
) -> Iterator[Checked]:
    """Yield how to wait for a program's runs on the device that checks, which begin at once."""
    checker = grading.checker
    if task is None or not closely or not (checker or grading.no_checker):
        yield tuple
    elif checker is None:
        yield lambda: unchecked_runs(task, "none", grading.no_checker)
    else:
        with ThreadPoolExecutor(1, thread_name_prefix="check") as pool:
            asked: Future[tuple[Run, ...]] = pool.submit(check, grading, checker, submission, task)
            yield asked.result


def check(
    grading: GradingContext, checker: Device, submission: Submission, task: Task
) -> tuple[Run, ...]:
    """Build and run a program on the device that checks; what keeps it from doing so is in the runs."""
    try:
        build = build_on(grading, checker, submission, task)
        if build.status != "built":
            return unchecked_runs(task, checker.name, f"the build for it fails: {build.reason}")
        results = checker.run(submission, build, task, known_references(grading, task))
    except GraderError as error:
        return unchecked_runs(task, checker.name, str(error))
    except Exception as error:  # noqa: BLE001 - whatever fails in the check, the other device's verdict stands
        return unchecked_runs(
            task, checker.name, f"the check failed: {type(error).__name__}: {error}"
        )
    return tuple(_sign_run(result.run) for result in results)


def unchecked_runs(task: Task, device: str, why: str) -> tuple[Run, ...]:
    """Return a run of each workload that was not made, with the reason."""
    return tuple(
        Run(workload=one.name, device=device, status="not_run", reason=why[:300])
        for one in task.judged
    )


def _sign_run(run: Run) -> Run:
    """Return the run with the device's name on what it saw."""
    seen = (item.model_copy(update={"device": run.device}) for item in run.evidence)
    return run.model_copy(update={"evidence": tuple(seen)})
