"""An output that is out of tolerance somewhere, as input to the search for patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.judge.inputs import Array
from grader.records import Evidence, WrongRegion, WrongValues

SAMPLE = 2**18
"""Number of wrong elements, evenly sampled, that the patterns of values use."""


@dataclass(frozen=True)
class Wrong:
    """An output that is out of tolerance somewhere."""

    actual: Array
    exact: Array
    mask: Array
    scale: float
    inputs: tuple[Array, ...] = ()
    workload: str = ""
    half: bool = False
    """Whether all of it is within half precision's tolerance."""
    half_sums: bool = False
    """Whether all of it, in half precision itself, is off as sums are that were kept in it."""
    factor: float | None = None
    """Common factor to the reference, where each element alone is within tolerance."""

    @cached_property
    def index(self) -> Array:
        """Flat positions of (a sample of) the wrong elements."""
        flat = np.flatnonzero(self.mask)
        return flat if flat.size <= SAMPLE else flat[:: -(-flat.size // SAMPLE)]

    @cached_property
    def a(self) -> Array:
        """The sampled wrong values, in float64."""
        return np.asarray(self.actual.reshape(-1)[self.index].astype(np.float64))

    @cached_property
    def r(self) -> Array:
        """The reference at the same elements, in float64."""
        return np.asarray(self.exact.reshape(-1)[self.index].astype(np.float64))

    def evidence(
        self, code: str, text: str, details: WrongValues | WrongRegion | None = None
    ) -> Evidence:
        """Return a pattern as evidence of this workload."""
        return Evidence(
            kind="mismatch",
            code=code,
            text=text,
            workload=self.workload or None,
            details=details,
        )
