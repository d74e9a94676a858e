"""The soundness check on any device: the same program runs on the checker, beside a device that doesn't check each access.

A GPU may compute right values despite a race; the simulator sees the race. Its proofs hold for the program, so it runs
while the GPU is busy. A run that is impossible or fails there is noted and never charged.
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
    """The checker's observations."""

    runs: tuple[Run, ...] = ()
    probes: tuple[Evidence, ...] = ()
    """Whether the results change without the kernels, and are recomputed in each call."""


Checked = Callable[[], Check]
"""Waits for the checker's observations."""


@contextmanager
def checked_beside(
    grading: GradingContext, submission: Submission, task: Task | None, *, closely: bool
) -> Iterator[Checked]:
    """Start a program's runs on the checker, and yield a function that waits for them."""
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
    """Build and run a program on the checker; obstacles are in the runs."""
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
    """Return a `not_run` run for each workload, with the reason."""
    return tuple(
        Run(workload=one.name, device=device, status="not_run", reason=why[:300])
        for one in task.judged
    )


def _sign_run(run: Run) -> Run:
    """Return the run with the device's name on its evidence."""
    seen = (item.model_copy(update={"device": run.device}) for item in run.evidence)
    return run.model_copy(update={"evidence": tuple(seen)})
