"""A fix: fixed shared arrays with too few elements for the threads that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Fix
from grader.source import SharedArray, Unit
from grader.source.code_edits import fix
from grader.source.constants import fold
from grader.source.cuda_code import text

LESS = re.compile(r"(.+?)\s*(?:/|-)\s*\d+", re.DOTALL)
COUNTS = (32, 256, 1024)
"""Warps or lanes, the usual block, and the largest block: an array holds one element for each of them."""


def enlarged(unit: Unit, array: SharedArray, threads: int = 0) -> Iterator[Fix]:
    """Yield fixes that give an array more room: `[N]` for `[N / 2]`, or one element a thread or warp."""
    if array.dynamic:
        return
    whole = [(dim, found[1]) for dim in array.dims if (found := LESS.fullmatch(text(dim)))]
    if whole:
        sizes = "".join(f"[{words}]" for _, words in whole)
        edits = [unit.edit(dim.start_byte, dim.end_byte, words) for dim, words in whole]
        yield from fix(f"give `{array.name}` {sizes} elements", edits)
        return
    has = fold(unit, array.dims[0]) if len(array.dims) == 1 else None
    for count in sorted({*COUNTS, threads}) if has is not None else ():
        if has is not None and has < count <= max(threads, COUNTS[0]):
            dim = array.dims[0]
            edit = unit.edit(dim.start_byte, dim.end_byte, str(count))
            yield from fix(f"give `{array.name}` {count} elements", [edit])
