"""Where on the way to a wrong element its value is computed: the slice that a run kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.records.observed import slices, values_of

if TYPE_CHECKING:
    from grader.records import Context, Evidence, Place, Slice
    from grader.source import Source

NEAR = 1e-3
"""Relative distance up to which a number of the text is the one that the results are off by."""


@dataclass(frozen=True)
class Made:
    """A place on the way, and what is said of it."""

    place: Place
    words: str


def on_the_way(
    source: Source, context: Context, first: Evidence, near: Place | None
) -> Made | None:
    """Return the line whose number the results are off by, or the last that computes in the kernel around `near`.

    None where no run kept the way, or `near` is on it.
    """
    for slice_ in slices(context):
        for line, value in _off_by(first, slice_):
            place = line_place(source, line)
            if place is not None:
                return Made(place, f"; {value:.6g} comes in at line {line}")
        lines = [line for line in slice_.computed if _same_kernel(source, line, near)]
        if near is not None and near.line in lines:
            return None
        place = line_place(source, lines[-1]) if lines else None
        if place is not None:
            way = ", ".join(map(str, lines))
            return Made(place, f"; it depends on the right elements, and is computed in line {way}")
    return None


def _off_by(first: Evidence, slice_: Slice) -> Iterator[tuple[int, float]]:
    """Yield the numbers on the way by which all results are off."""
    values = values_of(first)
    wanted = [values.offset, values.factor if first.code == "constant-factor" else None]
    for constant in slice_.constants:
        for off in wanted:
            if off and math.isclose(constant.value, off, rel_tol=NEAR):
                yield constant.line, constant.value


def _same_kernel(source: Source, line: int, near: Place | None) -> bool:
    if near is None:
        return True
    for unit in source.cuda:
        for kernel in unit.kernels:
            place = unit.place(kernel.node)
            if place.line <= near.line <= place.end_line:
                return place.line <= line <= place.end_line
    return True


def line_place(source: Source, line: int) -> Place | None:
    """Return the place of a line of the CUDA text."""
    for unit in source.cuda:
        for number in range(1, len(unit.lines) + 1):
            place = unit.place_line(number)
            if place.line == line:
                return place
    return None
