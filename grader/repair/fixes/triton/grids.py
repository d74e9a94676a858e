"""Fixes of grids that lack an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Launch, launches
from grader.source.analysis.triton_axes import axes_given, axes_used, cuts
from grader.source.code_edits import fix, replace

MOST = 4
"""Counts that are tried for an axis."""


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the grids of launches with the axis that is missing."""
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
    """Yield the likely numbers of programs of an axis: blocks of a length, else an unused size."""
    lengths = [cut for cut in cuts(launch.kernel) if cut.axis == axis]
    for cut in lengths:
        block = _in_host(launch, cut.block)
        for name in cut.lengths:
            length = _in_host(launch, name)
            if length and block:
                yield f"triton.cdiv({length}, {block})"
    if not lengths:
        yield from _idle_names(launch)
        tensors = [p for p in launch.kernel.parameters if p in launch.kernel.pointers]
        given = [_in_host(launch, name) for name in tensors[:1]]
        yield from (f"{one}.shape[{dim}]" for one in given if one for dim in (0, 1))


def _in_host(launch: Launch, name: str) -> str:
    """Return a launch's text for a parameter; in a grid function, the block's own name."""
    given = launch.arguments.get(name)
    if given is not None:
        return launch.kernel.source.text(given)
    if isinstance(launch.grid, ast.Lambda) and name in launch.kernel.constants:
        return f'{launch.grid.args.args[0].arg}["{name}"]'
    return name if name.isdecimal() else ""


def _bound_names(host: ast.FunctionDef) -> tuple[str, ...]:
    """Return the names that a function binds, in the order of the text; its own parameters first."""
    own = [one.arg for one in host.args.args if one.arg != "self"]
    stored = [one for one in nodes_under(host) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]  # fmt: skip
    stored.sort(key=lambda one: (one.lineno, one.col_offset))
    return tuple(dict.fromkeys((*own, *(one.id for one in stored))))


def _idle_names(launch: Launch) -> Iterator[str]:
    """Yield the names that a host function binds and neither the grid nor the launch uses."""
    host = launch.host
    used = {one.id for part in (launch.call, launch.grid) for one in ast.walk(part) if isinstance(one, ast.Name)}  # fmt: skip
    yield from (
        (name for name in _bound_names(host) if name not in used and name != "_") if host else ()
    )


FIX = FixMaker(("MEM008", "DEP001"), propose)
