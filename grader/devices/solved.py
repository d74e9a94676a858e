"""The number that a formula should have, solved for: results follow many a number in proportion, and then two runs say which one makes all of them right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from grader.judge.inputs import Array
from grader.simulator.changes import Change
from grader.simulator.changes.numbered import numbers_of, with_number

LEAST = 4
"""Wrong elements from which on they agree by more than chance."""
ALIKE = 1e-3
"""Relative difference of the numbers that single elements ask for, and how far a right element may move."""


def solve_numbers(
    changes: Sequence[Change],
    outputs: Sequence[Array],
    wanted: Sequence[Array],
    wrong: Sequence[Array],
    right: Sequence[Array],
) -> Iterator[Change]:
    """Yield the changes that put the number there that all wrong elements ask for.

    Of each output there is a row of the unchanged program and one for each change, what its elements should be, and masks
    of those that are wrong without a change and of those that are right.
    """
    if sum(int(mask.sum()) for mask in wrong) < LEAST:
        return
    for row, change in enumerate(changes, 1):
        known = numbers_of(change) if row < len(outputs[0]) else None
        if known is None or not math.isfinite(known[1]):
            continue
        ways = [(one[0], one[row]) for one in outputs]
        if any(_moves(*way, mask) for way, mask in zip(ways, right, strict=True)):
            continue
        shares = [_shares(*of) for of in zip(ways, wanted, wrong, strict=True)]
        share = _share_agreed_on(np.concatenate(shares))
        if share is not None:
            yield with_number(change, known[0] + share * (known[1] - known[0]))


def _moves(before: Array, after: Array, mask: Array) -> bool:
    """Whether a change makes other values of elements that are right."""
    old, new = (one[mask].astype(np.float64) for one in (before, after))
    with np.errstate(all="ignore"):
        same = (np.abs(new - old) <= ALIKE * np.abs(old)) | (old == new)
    return not bool(same.all())


def _shares(way: tuple[Array, Array], wanted: Array, mask: Array) -> Array:
    """Return how many times the way that each element goes under a change leads to what it should be."""
    before, after = (one[mask].astype(np.float64) for one in way)
    with np.errstate(all="ignore"):
        return np.asarray((wanted[mask] - before) / (after - before))


def _share_agreed_on(shares: Array) -> float | None:
    """Return the share that all elements agree on; None where they don't, or where no other number is asked for."""
    if not np.isfinite(shares).all():
        return None
    middle = float(np.median(shares))
    apart = float(np.max(np.abs(shares - middle)))
    another = min(abs(middle), abs(middle - 1.0)) > ALIKE
    return middle if another and apart <= ALIKE * abs(middle) else None
