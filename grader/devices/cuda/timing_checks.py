"""What a timed call gave, held against the reference: by the verdict's own tolerance, and float64."""

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
"""Two float32 results may differ by so many times what one may differ from float64's."""
CLEARLY = 4.0
"""Times the tolerance that a difference must exceed before it can be anything but rounding."""

Mask = Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class Doubt:
    """One call whose result differs from eager torch's: a suspicion, until float64 has been asked."""

    seed: int
    """Of the call's inputs: a batch of one call with this seed has the same."""
    want: Mapping[str, JsonValue]
    """Which elements were looked at."""
    ours: Batch
    theirs: Batch
    mismatch: Mismatch
    before: tuple[int, ...] = ()
    """Seeds of calls in the same buffers before it, where they are part of what is to be measured again."""


@dataclass(frozen=True)
class Checks:
    """The comparisons of one task's timed workload."""

    task: Task
    workload: Workload

    def against_eager(self, ours: Batch, eager: Batch, times: float = 1.0) -> Mismatch | None:
        """Return how the chosen elements differ from eager torch's, which may be off itself."""

        def mask(array: np.ndarray, i: int) -> np.ndarray:
            theirs, bound = eager.outputs[i], tolerance(self.task, self.workload, str(array.dtype))
            return wrong_elements(array, theirs, bound, root_mean_square(theirs), SLACK * times)

        return self._form(ours, eager) or _values(ours, eager, mask)

    def against_exact(
        self, ours: Batch, eager: Batch, exact: Batch, times: float = 1.0
    ) -> Mismatch | None:
        """Return how the chosen elements differ from the reference in float64.

        By the tolerance of the verdict, `times` as wide; eager torch's own error widens it.
        """

        def mask(array: np.ndarray, i: int) -> np.ndarray:
            bound = tolerance(self.task, self.workload, str(array.dtype))
            return out_of_tolerance(array, exact.outputs[i], eager.outputs[i], bound, times)

        return self._form(ours, eager) or _values(ours, exact, mask)

    def comparison(self, doubt: Doubt, mismatch: Mismatch) -> Comparison:
        """Return the comparison that says that a call's result is wrong."""
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
        if a.shape != r.shape:  # float64 took another way, and says nothing of this one
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
