"""Fixes of grids that lack an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.triton.host import idle_names, in_host
from grader.source import Source
from grader.source.analysis.triton import Launch, launches
from grader.source.analysis.triton_axes import axes_given, axes_used, cuts
from grader.source.code_edits import fix, replace

MOST = 4
"""Counts that are tried for an axis."""


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the launches' grids with the axis that they lack."""
    del finding, context
    for launch in launches(source):
        given, used = axes_given(launch), axes_used(launch.kernel)
        grid = launch.grid.body if isinstance(launch.grid, ast.Lambda) else launch.grid
        if given is not None and given in used and isinstance(grid, ast.Tuple):
            parts = [source.text(one) for one in grid.elts]
            for count in list(counts(launch, given))[:MOST]:
                edit = replace(source, grid, f"({', '.join((*parts, count))})")
                yield from fix(f"give the grid a further axis of `{count}`", [edit])


def counts(launch: Launch, axis: int) -> Iterator[str]:
    """Yield how many programs an axis may have been meant to have: blocks of a length, else a size that is not used."""
    lengths = [cut for cut in cuts(launch.kernel) if cut.axis == axis]
    for cut in lengths:
        block = in_host(launch, cut.block)
        for name in cut.lengths:
            length = in_host(launch, name)
            if length and block:
                yield f"triton.cdiv({length}, {block})"
    if not lengths:
        yield from idle_names(launch)
        tensors = [p for p in launch.kernel.parameters if p in launch.kernel.pointers]
        given = [in_host(launch, name) for name in tensors[:1]]
        yield from (f"{one}.shape[{dim}]" for one in given if one for dim in (0, 1))


FIX = FixMaker(("MEM008", "DEP001"), propose)
