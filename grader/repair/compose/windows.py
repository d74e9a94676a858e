"""Overlapping windows that are equal along all axes, whose sizes are compile-time constants for unrolling."""

from __future__ import annotations

MOST_CELLS = 16
"""Along an axis, of a window that is unrolled."""
MOST_REACH = {1: 32, 2: 8, 3: 8}
"""By rank: from a window's first cell to its last one along an axis, where a thread keeps all of it in registers."""

Kind = tuple[int, int, int, int, int]
"""Of windows: rank, cells along an axis, stride, dilation, and padding before a row."""


def overlapping_windows(
    rank: int, kernel: object, stride: object, dilation: object, padding: object
) -> tuple[Kind, ...]:
    """Return the kind of windows that overlap and are alike along all axes; none for others.

    Windows that share no cells gain nothing from it.
    """
    sizes = []
    for value in (kernel, stride, dilation, padding):
        each = set(value) if isinstance(value, list | tuple) else {value}
        size = each.pop()
        if each or not isinstance(size, int):
            return ()
        sizes.append(size)
    wide, step, apart, before = sizes
    reach = (wide - 1) * apart + 1
    fits = 1 < wide <= MOST_CELLS and reach <= MOST_REACH[rank]
    return ((rank, wide, step, apart, before),) if fits and step < reach else ()
