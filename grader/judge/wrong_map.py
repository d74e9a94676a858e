"""A small map of where an output is wrong, for a picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.judge.inputs import Array
from grader.records import WrongMap

CELLS = 32
"""Cells along each side, at most."""


def wrong_map(mask: Array) -> WrongMap | None:
    """Return the map of a boolean array of any shape; None where everything is wrong, or for a single number.

    For more than two dims three views are tried: the last dim against all others, the last two dims, the first two. The
    most informative one is taken.
    """
    if mask.size < 2 or mask.all():
        return None
    drawn = [(_shares(counts), down, across) for counts, down, across in _views(mask)]
    shares, down, across = max(drawn, key=lambda view: float(view[0].var()))
    rows = tuple("".join(map(str, row)) for row in _levels(shares).tolist())
    return WrongMap(rows=rows, down=down, across=across)


def _views(mask: Array) -> Iterator[tuple[Array, str, str]]:
    """Yield the share of wrong elements in two dims, the others folded, with the dims' names."""
    shape = mask.shape
    last = f"dim {mask.ndim - 1} (0 to {shape[-1] - 1})"
    if mask.ndim == 1:
        yield mask[None], "", f"index (0 to {shape[0] - 1})"
        return
    others = "dim 0" if mask.ndim == 2 else f"dims 0 to {mask.ndim - 2} together"
    flat = mask.reshape(-1, shape[-1])
    yield flat, f"{others} (0 to {flat.shape[0] - 1})", last
    if mask.ndim > 2:
        inner = mask.mean(axis=tuple(range(mask.ndim - 2)))
        yield inner, f"dim {mask.ndim - 2} (0 to {shape[-2] - 1})", last
        outer = mask.mean(axis=tuple(range(2, mask.ndim)))
        yield outer, f"dim 0 (0 to {shape[0] - 1})", f"dim 1 (0 to {shape[1] - 1})"


def _shares(values: Array) -> Array:
    """Return the mean of each cell."""
    total = values
    for axis in (0, 1):
        edges = _edges(values.shape[axis])
        sizes = np.diff(np.r_[edges, values.shape[axis]])
        sums = np.add.reduceat(total, edges, axis=axis, dtype=np.float64)
        total = sums / (sizes[:, None] if axis == 0 else sizes)
    return total


def _edges(size: int) -> Array:
    """Return where each cell starts."""
    cells = min(size, CELLS)
    return np.arange(cells) * size // cells


def _levels(shares: Array) -> Array:
    """Return 0 where nothing is wrong, 9 where all is, and 1 to 8 between."""
    between = np.clip(np.ceil(8 * shares), 1, 8)
    near = 1e-9
    levels = np.where(shares <= near, 0, np.where(shares >= 1 - near, 9, between))
    return np.asarray(levels.astype(int))
