"""Boxes around elements of a tensor, as records and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.judge.inputs import Array
from grader.records import Extent
from grader.simulator.provenance import Flat, Tensor


def extents(flat: Flat, shape: tuple[int, ...]) -> tuple[Extent, ...]:
    """Return the box around elements, dim by dim."""
    places = np.unravel_index(flat, shape) if shape else ()
    return tuple(_extent(np.unique(at), size) for at, size in zip(places, shape, strict=True))


def _extent(indices: Array, size: int) -> Extent:
    steps = np.unique(np.diff(indices))
    step = 1 if len(steps) == 0 else int(steps[0]) if len(steps) == 1 else 0
    return Extent(
        first=int(indices[0]), last=int(indices[-1]), step=step, count=len(indices), size=size
    )


def in_words(found: Sequence[Extent]) -> str:
    """Return a box in words; empty where it is the whole tensor.

    `columns 80 to 91`, `indices 3 to 9 in steps of 2 of dim 2`, `[0, 32 to 63, :, 0]`.
    """
    cut = sum(extent.count < extent.size for extent in found)
    if len(found) > 2 and cut > 1:
        within = (_indices(one) if one.count < one.size else ":" for one in found)
        return f"[{', '.join(within)}]"
    parts = (_along(at, found) for at, one in enumerate(found) if one.count < one.size)
    return ", ".join(parts)


def element_in_words(index: Sequence[int]) -> str:
    """Return the name of an element of the result; a result without dims is its only element."""
    return f"element {list(index)} of the result" if index else "the result"


def against(had: Sequence[Extent], wanted: Sequence[Extent]) -> tuple[str, str]:
    """Return the found and the expected elements, by the only dim that differs where there is one.

    `row 2` and `0`, `indices 3 to 5 of dim 1` and `0 to 2`.
    """
    apart = [at for at, (one, other) in enumerate(zip(had, wanted, strict=True)) if one != other]
    if len(apart) != 1:
        return in_words(had) or "others", in_words(wanted) or "all of it"
    (at,) = apart
    return _along(at, had), _indices(wanted[at])


def _along(at: int, found: Sequence[Extent]) -> str:
    """Return the indices of a box along one dim, in words: `columns 80 to 91`, `index 5 of dim 2`."""
    several = found[at].count > 1
    if len(found) == 2:
        return f"{('row', 'column')[at]}{'s' * several} {_indices(found[at])}"
    of = f" of dim {at}" if len(found) > 1 else ""
    return f"{'indices' if several else 'index'} {_indices(found[at])}{of}"


def _indices(extent: Extent) -> str:
    if extent.count == 1:
        return str(extent.first)
    every = "" if extent.step == 1 else f" in steps of {extent.step}" if extent.step else " in part"
    return f"{extent.first} to {extent.last}{every}"


def covers(ranges: Sequence[tuple[int, int, int, int]], index: Sequence[int]) -> bool:
    """Whether an element lies in a box that a run reported."""
    return all(
        first <= at <= last and (step == 0 or (at - first) % step == 0)
        for (first, last, step, _), at in zip(ranges, index, strict=False)
    )


def told_extents(ranges: Sequence[tuple[int, int, int, int]], tensor: Tensor) -> tuple[Extent, ...]:
    """Return the box that a run reported for a tensor."""
    return tuple(
        Extent(first=a, last=b, step=s, count=n, size=size)
        for (a, b, s, n), size in zip(ranges, tensor.shape, strict=False)
    )
