"""A correct program runs again: its workloads in another order, and one of them many times.

State between calls, caches by shape or address, counters of calls and races show as a result that
was right and isn't any more. Where the device can leave kernels out, it is also asked what the
program gives without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from grader.devices.base import Device, RunResult
from grader.judge import References, compare
from grader.judge.conduct import IDLE, conduct, probe
from grader.judge.tolerance import element_count
from grader.records import Build, Comparison, Evidence, Submission, Task, Workload

REPEATS = 8
"""Further calls of the smallest deciding workload, after all the others."""
DECIDING = frozenset({"nominal", "stress"})
_ENDED: Final = {"raised": "raises", "crashed": "crashes", "hung": "never ends"}


def second_look(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
) -> tuple[Evidence, ...]:
    """Return what a second run shows of a program whose first one was right.

    A second run that is not finished, for lack of time or memory, shows nothing. Raises GraderError
    where something of ours fails.
    """
    asked, origin, known = _in_another_order(task, references)
    results = device.run(submission, build, asked, known)
    right = {item.workload for item in comparisons if item.equal and item.counts}
    wrong = tuple(
        _differences(asked, known, results, {n: o for n, o in origin.items() if o in right})
    )
    kept = conduct(known, [item.result for item in results])
    return (*wrong[:1], *(item for item in kept if item.code == "result-changed"))


def without_kernels(
    device: Device, submission: Submission, build: Build, task: Task, references: References
) -> tuple[Evidence, ...]:
    """Return evidence that the program is right without any of its kernels, where it is."""
    deciding = tuple(w for w in task.judged if w.role in DECIDING)
    asked = task.model_copy(update={"workloads": deciding})
    results = device.run_idle(submission, build, asked, references)
    if not results or any(item.run.status != "ran" for item in results):
        return ()
    pairs = zip(deciding, results, strict=True)
    found = [compare(task, workload, references, result) for workload, result in pairs]
    if not all(item.equal for item in found) or not any(item.counts for item in found):
        return ()
    text = "With its kernels left out the program gives the same results: they do none of the work."
    return (probe(IDLE, text, deciding[0].name),)


def _in_another_order(
    task: Task, references: References
) -> tuple[Task, dict[str, str], References]:
    """Return the task with its workloads reversed and one repeated, and what is known of them.

    The names of repeated workloads are new; the mapping says which they stand for.
    """
    deciding = [w for w in task.judged if w.role in DECIDING]
    smallest = min(deciding, key=element_count)
    again = [
        smallest.model_copy(update={"name": f"{smallest.name[:180]} again {i + 1}"})
        for i in range(REPEATS)
    ]
    workloads = (*reversed(task.judged), *again)
    origin = {w.name: w.name for w in task.judged} | {w.name: smallest.name for w in again}
    known = replace(
        references,
        expected={new: references.expected[old] for new, old in origin.items()},
        states={
            new: references.states[old] for new, old in origin.items() if old in references.states
        },
        inputs={new: references.inputs[old] for new, old in origin.items()},
    )
    return task.model_copy(update={"workloads": workloads}), origin, known


def _differences(
    task: Task, references: References, results: Sequence[RunResult], origin: dict[str, str]
) -> Iterator[Evidence]:
    """Yield what went wrong this time; what decides `correct` comes first."""
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
    if found.equal or not found.counts:
        return ""
    text = found.mismatch.text if found.mismatch else "it differs"
    return f"is wrong when the workloads come in another order: {text}"
