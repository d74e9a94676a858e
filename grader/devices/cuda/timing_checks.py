"""Comparison of a timed call's result with the reference, by the verdict's tolerance and in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from grader.devices.cuda.timing_worker import Batch
from grader.judge.elements import (
    out_of_tolerance,
    root_mean_square,
    within_kernelbench,
    wrong_elements,
)
from grader.judge.tolerance import tolerance
from grader.records import Comparison, JsonValue, Mismatch, Task, Workload

SLACK = 4.0
"""Factor on the tolerance for the difference of two float32 results."""
CLEARLY = 4.0
"""Factor on the tolerance above which a difference can't be rounding."""

Mask = Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class Doubt:
    """One call whose result differs from eager torch's: a suspicion, until it is compared with float64."""

    seed: int
    """Seed of the call's inputs: a batch of one call with this seed has the same."""
    want: Mapping[str, JsonValue]
    """The compared elements."""
    ours: Batch
    theirs: Batch
    mismatch: Mismatch
    before: tuple[int, ...] = ()
    """Seeds of earlier calls in the same buffers, which the replay repeats."""


@dataclass(frozen=True)
class Checks:
    """The comparisons of one task's timed workload."""

    task: Task
    workload: Workload

    def against_eager(self, ours: Batch, eager: Batch, times: float = 1.0) -> Mismatch | None:
        """Return the difference of the chosen elements from eager torch's, which may be inexact itself."""

        def mask(array: np.ndarray, i: int) -> np.ndarray:
            theirs, bound = eager.outputs[i], tolerance(self.task, self.workload, str(array.dtype))
            return wrong_elements(array, theirs, bound, root_mean_square(theirs), SLACK * times)

        return self._form(ours, eager) or _values(ours, eager, mask)

    def against_exact(
        self, ours: Batch, eager: Batch, exact: Batch, times: float = 1.0
    ) -> Mismatch | None:
        """Return the difference of the chosen elements from the reference in float64.

        The verdict's tolerance is used with the factor `times`; eager torch's own error widens it.
        """

        def mask(array: np.ndarray, i: int) -> np.ndarray:
            bound = tolerance(self.task, self.workload, str(array.dtype))
            return out_of_tolerance(array, exact.outputs[i], eager.outputs[i], bound, times)

        return self._form(ours, eager) or _values(ours, exact, mask)

    def comparison(self, doubt: Doubt, mismatch: Mismatch) -> Comparison:
        """Return the comparison for a wrong result of a call."""
        pairs = zip(doubt.ours.outputs, doubt.theirs.outputs, strict=False)
        return Comparison(
            workload=self.workload.name,
            role=self.workload.role,
            equal=False,
            mismatch=mismatch,
            kernelbench_equal=mismatch.kind == "values"
            and all(within_kernelbench(a, r) for a, r in pairs),
        )

    def _form(self, ours: Batch, eager: Batch) -> Mismatch | None:
        if ours.shapes != eager.shapes or len(ours.outputs) != len(eager.outputs):
            text = f"{ours.shapes} returned at full size, {eager.shapes} expected"
            return Mismatch(kind="shape", text=text, fraction=1.0)
        for a, r in zip(ours.outputs, eager.outputs, strict=True):
            if a.shape != r.shape or a.dtype != r.dtype:
                text = f"{a.dtype} returned at full size, {r.dtype} expected"
                return Mismatch(kind="dtype", text=text, fraction=1.0)
        return None


def _values(ours: Batch, right: Batch, mask: Mask) -> Mismatch | None:
    for i, (a, r) in enumerate(zip(ours.outputs, right.outputs, strict=True)):
        if a.shape != r.shape:  # float64 took another branch, so it is not comparable
            continue
        wrong = mask(a, i)
        if wrong.any():
            at, share = int(np.flatnonzero(wrong)[0]), float(wrong.mean())
            text = (
                f"{100 * share:.3g}% of the elements that were looked at are wrong, e.g. "
                f"{a.reshape(-1)[at]:.6g} where the reference has {r.reshape(-1)[at]:.6g}"
            )
            return Mismatch(kind="values", text=text, fraction=share)
    return None
