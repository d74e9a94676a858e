"""Random numbers that a kernel draws itself: the reference's are torch's, and no seed makes them the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.rules.cuda_code import cuda_code, units

if TYPE_CHECKING:
    from grader.records import Place
    from grader.source import Source

_DRAWS = re.compile(r"curand(?:_(?:uniform|normal|log_normal|poisson|discrete)\w*)?")


@dataclass(frozen=True)
class Draw:
    """The first call that draws a number: where, and what is called."""

    place: Place
    name: str

    @property
    def words(self) -> str:
        """Return what it does to the result."""
        return f": `{self.name}` draws random numbers of its own, and the reference's are torch's"


def own_draw(source: Source) -> Draw | None:
    """Return where a kernel draws random numbers, if one does."""
    for unit in units(source):
        for call in cuda_code(unit).calls:
            if _DRAWS.fullmatch(call.last):
                return Draw(unit.place(call.node), call.last)
    return None
