"""The state check: a correct program runs again, its workloads in another order, and one of them many times.

Inputs of equal shapes are refilled in place. State between calls, caches by shape, address or tensor, counters of calls
and races show as a right result that becomes wrong. Where the device can leave kernels out, the program also runs
without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from grader.devices.base import Device, RunResult
from grader.devices.capabilities import Bounded, IdleRunner
from grader.judge import References, compare
from grader.judge.honesty import computing_operators, works
from grader.judge.side_effects import IDLE, KEPT, probe, side_effects
from grader.judge.tolerance import element_count
from grader.languages import read
from grader.records import DECIDING, Build, Comparison, Evidence, Run, Submission, Task, Workload
from grader.records.observed import KERNELS_MATTER
from grader.simulator.report import api_calls
from grader.source import parse

REPEATS = 8
"""Further calls of the smallest deciding workload, after all the others; fewer where each is slow."""
COPYING = frozenset({"_to_copy", "copy_", "to", "cpu", "item", "_local_scalar_dense", "tolist"})
LIBRARIES = ("cublas", "cudnn", "cusparse", "cusolver", "cufft", "curand")
QUICK = 0.25
"""Share of the time limit of a list of runs below which it counts as quick."""
_ENDED: Final = {"raised": "raises", "crashed": "crashes", "hung": "never ends"}


def state_check(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
) -> tuple[Evidence, ...]:
    """Return evidence from a second run of a program whose first one, `runs`, was right.

    A second run that is not finished, for lack of time or memory, is tried once more, and gives no evidence unless the
    first took a small part of that time. Raises GraderError for a failure of the grader.
    """
    asked, origin, known = _in_another_order(task, references, runs, device.seconds)
    results, seconds = device.run(submission, build, asked, known, in_place=True), device.seconds
    if _stalled_workload(results):
        seconds = device.left if isinstance(device, Bounded) else seconds
        results = device.run(submission, build, asked, known, in_place=True)
    quick = sum(run.seconds for run in runs) < QUICK * min(seconds, device.seconds)
    if quick and (name := _stalled_workload(results)):
        text = f"on {origin[name]} it ended at first, and does not when it is called again"
        return (probe("order-matters", text, origin[name]),)
    right = {item.workload for item in comparisons if item.equal and item.decides}
    wrong = tuple(
        _differences(asked, known, results, {n: o for n, o in origin.items() if o in right})
    )
    kept = side_effects(known, [item.result for item in results])
    again = tuple(_handed_out(origin, runs, [item.run for item in results]))
    return (*wrong[:1], *again[:1], *(item for item in kept if item.code == "result-changed"))


def results_kept(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    runs: Sequence[Run],
) -> tuple[Evidence, ...]:
    """Return evidence that a program computes nothing when called again with earlier inputs.

    Tested on the smallest workload alone, on a device that counts launches, beside one that does not.
    """
    alone = task.model_copy(update={"workloads": (_smallest(task),)})
    asked, origin, known = _in_another_order(alone, references, runs, device.seconds)
    results = device.run(submission, build, asked, known, in_place=True)
    return tuple(_handed_out(origin, runs, [item.run for item in results]))[:1]


def _smallest(task: Task) -> Workload:
    return min((w for w in task.judged if w.role in DECIDING), key=element_count)


def _handed_out(
    origin: Mapping[str, str], runs: Sequence[Run], again: Sequence[Run]
) -> Iterator[Evidence]:
    """Yield evidence where no kernel computes a result that one computed at first."""
    launched = {run.workload for run in runs if run.launches}
    for run in again:
        name = origin[run.workload]
        if run.status == "ran" and name in launched and not works(run):
            text = f"Called on {name} again, it launches no kernel and computes nothing: it returns the result of an earlier call."
            yield probe(KEPT, text, name)


def without_kernels(
    device: IdleRunner, submission: Submission, build: Build, task: Task, references: References
) -> tuple[Evidence, ...]:
    """Return evidence on whether the program is right without any of its kernels.

    A task that can't distinguish wrong programs gives no evidence here.
    """
    if task.weak:
        return ()
    deciding = tuple(w for w in task.judged if w.role in DECIDING)
    asked = task.model_copy(update={"workloads": deciding})
    results = device.run_idle(submission, build, asked, references)
    if not results or any(item.run.status != "ran" for item in results):
        return ()
    pairs = zip(deciding, results, strict=True)
    found = [compare(task, workload, references, result) for workload, result in pairs]
    name = deciding[0].name
    if not all(item.equal for item in found):
        text = "With its kernels left out the program gives other results: they take part in them."
        return (probe(KERNELS_MATTER, text, name),)
    if not any(item.decides for item in found):
        return ()
    if (
        any(_is_new(references, item) for item in results)
        and not computing_operators([item.run for item in results])
        and not any(map(_copies, results))
        and not _calls_a_library(submission)
    ):
        text = (
            "with its kernels left out it gives the same results, and neither an operator nor a copy "
            "is on record: its host code works on the GPU's memory itself, which crashes on a GPU, "
            "or it hides what it calls"
        )
        return (probe("host-computes", text, name),)
    text = "With its kernels left out the program gives the same results: they do none of the work."
    if not _has_kernels(submission):
        text = "It has no kernel of its own: torch computes the results."
    return (probe(IDLE, text, name),)


def _is_new(references: References, result: RunResult) -> bool:
    """Whether a result has a value that no input or weight has, so that it was computed."""
    name = result.run.workload
    given = [*references.inputs[name], *references.states.get(name, {}).values()]
    known = [value.reshape(-1) for value in given if isinstance(value, np.ndarray)]
    values = np.concatenate([np.zeros(0), *(array.astype(np.float64) for array in known)])
    return any(not np.isin(output.array, values).all() for output in result.outputs)


def _calls_a_library(submission: Submission) -> bool:
    """Whether the text names an NVIDIA library, whose calls no log has."""
    readings = read(parse(submission.code))
    return any(name.startswith(LIBRARIES) for reading in readings for name in reading.called)


def _has_kernels(submission: Submission) -> bool:
    """Whether the text has code for the device."""
    texts = (one for reading in read(parse(submission.code)) for one in reading.texts)
    return any(one.has_kernels for one in texts)


def _copies(result: RunResult) -> bool:
    """Whether anything was copied, by an operator of torch or a CUDA call."""
    names = {name.removeprefix("aten::").split(".")[0] for name in result.run.operators}
    return bool(names & COPYING) or any(
        "Memcpy" in name for name in api_calls(result.result.report)
    )


def _stalled_workload(results: Sequence[RunResult]) -> str:
    """Return the workload that was not finished in time, or ""."""
    return next((item.run.workload for item in results if item.run.status == "timeout"), "")


def _in_another_order(
    task: Task, references: References, runs: Sequence[Run], seconds: float
) -> tuple[Task, dict[str, str], References]:
    """Return the task with its workloads reversed and one repeated, with their reference outputs.

    Repeated workloads have new names, which the mapping maps to the original ones. All repeats together take about
    `seconds` at most, if each takes as long as it took in `runs`.
    """
    smallest = _smallest(task)
    took = next((run.seconds for run in runs if run.workload == smallest.name), 0.0)
    again = [
        smallest.model_copy(update={"name": f"{smallest.name[:180]} again {i + 1}"})
        for i in range(min(REPEATS, int(seconds / max(took, 0.001))))
    ]
    workloads = (*reversed(task.judged), *again)
    origin = {w.name: w.name for w in task.judged} | {w.name: smallest.name for w in again}
    known = replace(
        references,
        expected={new: references.expected[old] for new, old in origin.items()},
        states={
            new: references.states[old] for new, old in origin.items() if old in references.states
        },
        initial={
            new: references.initial[old] for new, old in origin.items() if old in references.initial
        },
        inputs={new: references.inputs[old] for new, old in origin.items()},
    )
    return task.model_copy(update={"workloads": workloads}), origin, known


def _differences(
    task: Task, references: References, results: Sequence[RunResult], origin: dict[str, str]
) -> Iterator[Evidence]:
    """Yield the failures of the second run; those that decide `correct` come first."""
    pairs = sorted(
        zip(task.judged, results, strict=True), key=lambda pair: pair[0].role == "general"
    )
    for workload, result in pairs:
        name = origin.get(workload.name)
        text = _difference(task, workload, references, result) if name else ""
        if name and text:
            yield probe("order-matters", f"on {name} it was right at first, and {text}", name)


def _difference(task: Task, workload: Workload, references: References, result: RunResult) -> str:
    run = result.run
    if run.status in _ENDED:
        return f"{_ENDED[run.status]} when the workloads come in another order: {run.reason}"
    if run.status != "ran":
        return ""
    found = compare(task, workload, references, result)
    if found.equal or not found.decides:
        return ""
    text = found.mismatch.text if found.mismatch else "it differs"
    return f"is wrong when the workloads come in another order: {text}"
