"""The dry run at the task's full size, for failures that occur only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.build.workspace import ARTIFACT
from grader.devices.built_when_called import run_and_keep_compiled
from grader.devices.guests import GuestDevice
from grader.judge import Group, References
from grader.judge.honesty import computing_operators
from grader.judge.inputs import plain
from grader.languages import compiles_when_launched
from grader.records import Build, Evidence, Run, Submission, Task, TensorSpec, Workload
from grader.sandbox import GuestWorkload
from grader.source import parse

SECONDS = 30.0
"""Wall time of the guest; a longer run gives no evidence."""
SETTINGS = {
    "dry_run": 1,
    "max_blocks": 8,
    "check_races": 0,
    "check_uninitialised": 0,
    "count_lines": 0,
    "outside": 0,
}
"""Settings of the simulator: a few blocks of each launch, spread from the first to the last."""
_REFUSED = frozenset({"launch-error", "launch-error-unseen"})
_KEPT = _REFUSED | {"out-of-bounds", "null-pointer", "host-memory"}
"""Kinds of evidence that zeros in place of data can't cause."""


def dry_run(
    device: GuestDevice, submission: Submission, build: Build, task: Task, seed: int
) -> Run | None:
    """Return the failed run of forward at the task's full size, or one with torch's computing operators.

    None where nothing fails and none computes.
    """
    run = _dry_run_of(device, submission, build, task, seed)
    return None if run is None else _failed_run(run) or _left_to_torch(run)


def launched_at_full_size(
    device: GuestDevice, submission: Submission, build: Build, task: Task, seed: int
) -> frozenset[str] | None:
    """Return the kernels that forward launches at the task's full size; None where it does not complete."""
    run = _dry_run_of(device, submission, build, task, seed)
    ended = run is not None and run.status == "ran"
    return frozenset(launch.kernel for launch in run.launches) if run and ended else None


def _dry_run_of(
    device: GuestDevice, submission: Submission, build: Build, task: Task, seed: int
) -> Run | None:
    full = task.full
    if full is None or _is_run_anyway(task, full):
        return None
    known = References(
        task=task.key,
        seed=seed,
        inputs={full.name: _workload_key(full)},
        precision=task.precision or "",
    )
    group = Group(full.init, full.weights, (full,))
    job = device.job(submission, build, group, group.workloads, known)
    simulator: Any = job.options["simulator"]
    options = {**job.options, "dry_run": True, "simulator": {**simulator, **SETTINGS}}
    job = replace(job, options=options, workloads=(GuestWorkload(full.name, _workload_key(full)),))
    limits = device.limits(min(SECONDS, device.options.run_seconds))
    if compiles_when_launched(parse(submission.code)):  # as in the checks at that size
        limits = replace(limits, output=ARTIFACT)
        reply = run_and_keep_compiled(job, lambda job: device.converse(job, limits))
    else:
        reply = device.converse(job, limits)
    if not reply.results or reply.results[0].status not in {"ran", "raised"}:
        return None
    return device.record(full, reply.results[0], reply, parse(submission.code))


def _is_run_anyway(task: Task, full: Workload) -> bool:
    return any(w.inputs == full.inputs and w.init == full.init for w in task.judged)


def _workload_key(workload: Workload) -> tuple[Any, ...]:
    return tuple(
        {"shape": list(item.shape), "dtype": item.dtype}
        if isinstance(item, TensorSpec)
        else {"value": plain(item)}
        for item in workload.inputs
    )


def _failed_run(run: Run) -> Run | None:
    """Return the run if it failed, with the evidence that counts."""
    evidence = tuple(item for item in run.evidence if item.code in _KEPT)
    refused = next((item.text for item in evidence if item.code in _REFUSED), "")
    if run.status != "raised" and not refused:
        return None
    return run.model_copy(
        update={
            "status": "raised",
            "reason": refused or run.reason,
            "evidence": _name_workload(evidence, run.workload),
            "counts": (),
            "launches": (),
        }
    )


def _left_to_torch(run: Run) -> Run | None:
    """Return the run, reduced to its operators, where one of torch's computes."""
    if run.status != "ran" or not computing_operators([run]):
        return None
    return run.model_copy(update={"evidence": (), "counts": (), "launches": ()})


def _name_workload(evidence: tuple[Evidence, ...], workload: str) -> tuple[Evidence, ...]:
    return tuple(item.model_copy(update={"workload": workload}) for item in evidence)
