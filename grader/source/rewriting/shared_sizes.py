"""Rewritings of the sizes of fixed shared arrays to the number of threads that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Fix
from grader.source import Unit
from grader.source.code_edits import fix, replace_node
from grader.source.constants import fold
from grader.source.cpp import Declare
from grader.source.nodes import text

LESS = re.compile(r"(.+?)\s*(?:/|-)\s*\d+", re.DOTALL)
COUNTS = (32, 256, 1024)
"""Usual array sizes: one element for each warp or lane, each thread of a usual block, or of the largest block."""
MOST_THREADS = 1024
"""Most threads of a block."""


def cap(unit: Unit, array: Declare, count: int) -> tuple[Fix, ...]:
    """Limit the array to the largest number of threads of a block, since one element for each suffices."""
    if len(array.sizes) != 1 or count <= MOST_THREADS:
        return ()
    edit = replace_node(unit, array.sizes[0], str(MOST_THREADS))
    return fix(f"give {array.name} one element for each thread that a block can have", [edit])


def enlarge_array(unit: Unit, array: Declare, threads: int = 0) -> Iterator[Fix]:
    """Yield fixes that enlarge an array: `[N]` for `[N / 2]`, or one element for each thread or warp."""
    if array.extern:
        return
    whole = [(dim, found[1]) for dim in array.sizes if (found := LESS.fullmatch(text(dim)))]
    if whole:
        sizes = "".join(f"[{words}]" for _, words in whole)
        edits = [unit.edit(dim.start_byte, dim.end_byte, words) for dim, words in whole]
        yield from fix(f"give `{array.name}` {sizes} elements", edits)
        return
    has = fold(unit, array.sizes[0]) if len(array.sizes) == 1 else None
    for count in sorted({*COUNTS, threads}) if has is not None else ():
        if has is not None and has < count <= max(threads, COUNTS[0]):
            dim = array.sizes[0]
            edit = unit.edit(dim.start_byte, dim.end_byte, str(count))
            yield from fix(f"give `{array.name}` {count} elements", [edit])
