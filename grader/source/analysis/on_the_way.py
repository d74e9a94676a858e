"""Where on the way to a wrong element its value is computed: the slice that a run kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.records import Context, Evidence, Place, Slice
from grader.records.observed import slices, values_of
from grader.source import Source

NEAR = 1e-3
"""Relative distance up to which a number of the text is the one that the results are off by."""


@dataclass(frozen=True)
class Made:
    """A place on the way, and what is said of it."""

    place: Place
    words: str
    certain: bool
    """Whether values on the way were met that are the reference's, or the number itself."""


def on_the_way(source: Source, context: Context, first: Evidence) -> Made | None:
    """Return the line whose number the results are off by, or the first that leaves the reference's values.

    None where no run kept the way.
    """
    for item, slice_ in slices(context):
        for line, value in _off_by(first, slice_):
            place = line_place(source, line)
            if place is not None:
                return Made(place, f"{value:.6g} comes in at line {line}", certain=True)
        if item.place is None:
            continue
        line, before = item.place.line, [at for at in slice_.right if at != item.place.line]
        until = (
            f": in line {_listed(before)} the values are still the reference's" if before else ""
        )
        words = (
            f"line {line} is the first that gives another value than the reference comes by{until}"
        )
        return Made(item.place, words, certain=bool(slice_.right))
    return None


def _listed(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines))


def _off_by(first: Evidence, slice_: Slice) -> Iterator[tuple[int, float]]:
    """Yield the numbers on the way by which all results are off."""
    values = values_of(first)
    factor = values.factor if first.code == "constant-factor" else None
    for constant in slice_.constants:
        if values.offset and math.isclose(constant.value, values.offset, rel_tol=NEAR):
            yield constant.line, constant.value
        elif factor and math.isclose(constant.value, factor, rel_tol=NEAR):
            yield constant.used, constant.value


def line_place(source: Source, line: int) -> Place | None:
    """Return the place of a line of the CUDA text."""
    for unit in source.cuda:
        for number in range(1, len(unit.lines) + 1):
            place = unit.place_line(number)
            if place.line == line:
                return place
    return None
