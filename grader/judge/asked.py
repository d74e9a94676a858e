"""Elements of a result to trace: wrong ones, right ones near them, and the dependences of the reference's elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grader.judge.inputs import Array
from grader.judge.way import Way
from grader.simulator.provenance import NOTHING, Flat

NEGLIGIBLE = 1e-12
"""Gradient, relative to the largest one, that counts as zero."""
LUCKY = 0.1
"""Share of right elements up to which they may be right by chance and are not evidence."""
MOST_ASKED = 4
"""Number of wrong elements to trace, and of right ones."""


@dataclass(frozen=True)
class Asked:
    """An element of a result, and the dependences of the reference's element."""

    output: int
    index: tuple[int, ...]
    wrong: bool
    needs: Mapping[str, Flat]
    """Elements of each tensor that change the reference's element, by the tensor's role."""
    way: Way
    exchanged: bool = False
    """Whether the wrong elements of its result are right ones at other places."""


FEW = 8
"""Fewest wrong elements, less one, for a statement about their order."""


def are_exchanged(actual: Array, exact: Array, mask: Array) -> bool:
    """Whether the wrong elements have the right values in another order."""
    here, there = (np.sort(one[mask].astype(np.float64)) for one in (actual, exact))
    if len(here) <= FEW or not np.isfinite(here).all() or np.ptp(there) == 0:
        return False
    return bool(np.abs(here - there).max() <= 1e-4 * np.ptp(there))


def choose_elements(mask: Array) -> list[tuple[int, bool]]:
    """Return flat indices of wrong elements and of right ones near them, each marked as wrong or right."""
    wrong, right = np.flatnonzero(mask), np.flatnonzero(~mask)
    picked = [(int(one), True) for one in _spread(wrong)]
    if len(right) < LUCKY * mask.size:
        return picked
    near = {int(right[np.abs(right - one).argmin()]) for one, _ in picked if len(right)}
    return picked + [(one, False) for one in sorted(near | {int(i) for i in _spread(right)[:2]})]


def _spread(flat: Array) -> Array:
    if len(flat) <= MOST_ASKED:
        return flat
    return np.asarray(flat[np.linspace(0, len(flat) - 1, MOST_ASKED).astype(int)])


def needed_elements(gradient: Array) -> Flat:
    """Return the flat indices at which a gradient is not zero."""
    size = np.abs(gradient.ravel())
    top = float(size.max(initial=0.0))
    if not np.isfinite(top) or top == 0:
        return NOTHING
    return np.flatnonzero(size > NEGLIGIBLE * top).astype(np.int64)
