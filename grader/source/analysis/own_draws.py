"""Random numbers that a kernel draws itself: the reference's are torch's, and no seed makes them the same."""

import re
from dataclasses import dataclass

from grader.records import Place
from grader.source import Source

_DRAWS = re.compile(r"curand(?:_(?:uniform|normal|log_normal|poisson|discrete)\w*)?")


@dataclass(frozen=True)
class Cause:
    """The explanation of a wrong result: its place and a clause."""

    place: Place
    words: str


def own_draw(source: Source) -> Cause | None:
    """Return the place where a kernel draws random numbers, if one does."""
    for unit in source.units:
        for call in unit.calls:
            if _DRAWS.fullmatch(call.name):
                said = f": `{call.name}` draws random numbers of its own, and the reference's are torch's"
                return Cause(unit.place(call.node), said)
    return None
