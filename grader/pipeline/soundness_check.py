"""Soundness, whatever the device: the same program on a device that checks each access, beside one that doesn't.

A GPU computes right values through a race; the simulator sees the race. What it proves holds for the program, so it is
asked while the GPU is busy. What it can't run, or ends otherwise there, is said and never charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from grader.devices import Device, IdleRunner
from grader.devices.state_check import results_kept, without_kernels
from grader.errors import GraderError
from grader.pipeline.building import build_on
from grader.pipeline.context import GradingContext, known_references
from grader.records import Evidence, Run, Submission, Task


@dataclass(frozen=True)
class Check:
    """What the device that checks saw."""

    runs: tuple[Run, ...] = ()
    probes: tuple[Evidence, ...] = ()
    """Whether the results are others without the kernels, and computed anew each time."""


Checked = Callable[[], Check]
"""Waits for what the device that checks saw."""


@contextmanager
def checked_beside(
    grading: GradingContext, submission: Submission, task: Task | None, *, closely: bool
) -> Iterator[Checked]:
    """Yield how to wait for a program's runs on the device that checks, which begin at once."""
    checker = grading.checker
    if task is None or not closely or not (checker or grading.no_checker):
        yield Check
    elif checker is None:
        yield lambda: Check(unchecked_runs(task, "none", grading.no_checker))
    else:
        with ThreadPoolExecutor(1, thread_name_prefix="check") as pool:
            asked = pool.submit(check, grading, checker, submission, task)
            yield asked.result


def check(grading: GradingContext, checker: Device, submission: Submission, task: Task) -> Check:
    """Build and run a program on the device that checks; what keeps it from doing so is in the runs."""
    try:
        return _check(grading, checker, submission, task)
    except GraderError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - whatever fails in the check, the other device's verdict stands
        why = f"the check failed: {type(error).__name__}: {error}"
    return Check(unchecked_runs(task, checker.name, why))


def _check(grading: GradingContext, checker: Device, submission: Submission, task: Task) -> Check:
    build = build_on(grading, checker, submission, task)
    if build.status != "built":
        why = f"the build for it fails: {build.reason}"
        return Check(unchecked_runs(task, checker.name, why))
    references = known_references(grading, task)
    results = checker.run(submission, build, task, references)
    runs = tuple(_sign_run(result.run) for result in results)
    if not isinstance(checker, IdleRunner) or not any(run.launches for run in runs):
        return Check(runs)
    program = (submission, build, task, references)
    kept = results_kept(checker, *program, runs)
    return Check(runs, (*kept, *without_kernels(checker, *program)))


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
