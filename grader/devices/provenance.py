"""Traces a wrong program: it runs once more on a small workload with provenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grader.devices.base import Device
from grader.devices.capabilities import Tracer
from grader.errors import GraderError
from grader.execution.gradients import Needs
from grader.judge import References
from grader.judge.asked import Asked, are_exchanged, choose_elements, needed_elements
from grader.judge.dependence import evidence_of
from grader.judge.elements import out_of_tolerance
from grader.judge.inputs import Array
from grader.judge.tolerance import element_count, tolerance
from grader.judge.way import Way
from grader.records import DECIDING, Build, Comparison, Evidence, Submission, Task, Workload
from grader.simulator.provenance import read_told
from grader.source import parse

Ask = Callable[[Workload, Sequence[tuple[int, int]]], list[Needs]]
"""Returns the dependences of elements of the reference's outputs."""
MOST = 2**20
"""Most input elements of a traced workload."""
SMALL = 2**17
"""Most elements for which every value can be followed in most programs."""
ENOUGH = 64
"""Elements from which on a workload shows more than a corner case."""


def trace_wrong(
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    references: References,
    comparisons: Sequence[Comparison],
    ask: Ask,
) -> tuple[Evidence, ...]:
    """Return the provenance of the smallest informative workload with wrong values.

    Empty where there is none, or where the device can't do it or fails.
    """
    workload = telling_workload(task, comparisons)
    if workload is None or not isinstance(device, Tracer):
        return ()
    try:
        first = device.trace(submission, build, task, references, workload, ())
        masks = wrong_masks(task, workload, references, first.outputs)
        picked = [(o, i, wrong) for o, mask in masks for i, wrong in choose_elements(mask)]
        asked = [(o, i) for o, i, _ in picked]
        if not asked:
            return ()
        traced = device.trace(submission, build, task, references, workload, asked)
        found = read_told(traced.report, parse(submission.code))
        gradients = ask(workload, asked) if found else []
    except GraderError:  # an explanation is missing then, the verdict is still valid
        return ()
    if found is None:
        return ()
    exact = references.expected[workload.name].exact
    moved = {o for o, mask in masks if are_exchanged(first.outputs[o], exact[o], mask)}
    return evidence_of(
        found, _elements_with_dependences(picked, gradients, exact, moved), workload.name
    )


def _elements_with_dependences(
    picked: Sequence[tuple[int, int, bool]],
    gradients: Sequence[Needs],
    exact: Sequence[Array],
    moved: set[int],
) -> list[Asked]:
    """Return the chosen elements (output, flat index, whether wrong) with the right dependences of each."""
    known = gradients or [Needs({}, Way(np.zeros(0))) for _ in picked]
    return [
        Asked(
            output=o,
            index=tuple(int(at) for at in np.unravel_index(i, exact[o].shape)),
            wrong=wrong,
            needs={role: needed_elements(array) for role, array in needs.gradients.items()},
            way=needs.way,
            exchanged=o in moved,
        )
        for (o, i, wrong), needs in zip(picked, known, strict=False)
    ]


def telling_workload(task: Task, comparisons: Sequence[Comparison]) -> Workload | None:
    """Return the smallest workload with wrong values that shows more than a corner case."""
    wrong = {
        item.workload: item.decides
        for item in comparisons
        if item.mismatch and item.mismatch.form is None
    }
    found = [w for w in task.judged if w.name in wrong and element_count(w) <= MOST]
    return min(found, key=lambda w: _trouble(w, decides=wrong[w.name]), default=None)


def _trouble(workload: Workload, *, decides: bool) -> tuple[bool, bool, bool, int]:
    """Return a workload's disadvantages, the gravest first: too large to follow, another role, a corner case."""
    size = element_count(workload)
    deciding = decides and workload.role in DECIDING
    return (size > SMALL, not deciding, size < ENOUGH, size)


def wrong_masks(
    task: Task, workload: Workload, references: References, outputs: Sequence[Array]
) -> list[tuple[int, Array]]:
    """Return the masks of wrong outputs, with the outputs' numbers."""
    expected = references.expected[workload.name]
    found = []
    for number, (actual, exact, native) in enumerate(
        zip(outputs, expected.exact, expected.native, strict=False)
    ):
        if actual.shape != exact.shape:
            continue
        with np.errstate(all="ignore"):
            bound = tolerance(task, workload, str(native.dtype))
            mask = out_of_tolerance(actual, exact, native, bound)
        if mask.any():
            found.append((number, mask))
    return found
