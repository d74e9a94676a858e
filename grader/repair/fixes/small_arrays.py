"""Fixes of shared arrays that a run saw overrun: room for the threads that use them."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Kernel, SharedArray, Source, Unit
from grader.source.cuda_code import descendants, text
from grader.source.rewriting.small_arrays import COUNTS, enlarged


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fixes for the first access that runs showed."""
    for item in finding.evidence[:1]:
        if "shared" in item.code:
            yield from enlarged_where(source, item)


def enlarged_where(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes for the arrays that a line uses on which a run saw an access past the end."""
    for unit in source.cuda if item.place is not None else ():
        for kernel in unit.kernels:
            for array in _on_line(unit, kernel, item.place.line if item.place else 0):
                yield from enlarged(unit, array, COUNTS[-1])


def _on_line(unit: Unit, kernel: Kernel, line: int) -> Iterator[SharedArray]:
    used = {
        text(node)
        for node in descendants(kernel.node, "identifier")
        if unit.place(node).line == line
    }
    yield from (array for array in kernel.shared if array.name in used)


FIX = FixMaker(codes=("MEM011",), propose=propose)
