"""Values that a reference comes by on the way to an element, and the step of a submission that leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.judge.inputs import Array
from grader.simulator.provenance import Step

SAME = 2e-5
"""Relative difference up to which a step's value is one of the reference's."""


@dataclass(frozen=True)
class Way:
    """Values that the reference comes by on the way to an element."""

    there: Array
    """Of its steps' results, what stands where the element does; NaN where nothing does."""
    anywhere: Array
    """Of its small results (a mean of each row), all values."""


def leaving_step(steps: Sequence[Step], way: Way) -> Step | None:
    """Return the first step that gives another value than the reference comes by.

    One from which a later step makes a value of the reference's is as right as that: the reference may
    come by it in another way. The last one gives the element itself, which is wrong.
    """
    last = next((step.number for step in reversed(steps) if step.floats), None)
    right = {step.number for step in steps if meets(step, way) and step.number != last}
    by_number = {step.number: step for step in steps}
    waiting = list(right)
    while waiting:
        step = by_number.get(waiting.pop())
        more = step.uses - right if step is not None else frozenset()
        right |= more
        waiting += more
    return next((step for step in steps if step.floats and step.number not in right), None)


def meets(step: Step, way: Way) -> bool:
    """Whether a step gives a value that the reference comes by."""
    if not step.floats or step.value in {0.0, 1.0}:  # which come about in many ways
        return False
    return _near(way.there, step.value, SAME) or _near(way.anywhere, step.value, SAME / 8)


def _near(values: Array, value: float, distance: float) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.any(np.abs(values - value) <= distance * np.abs(values)))
