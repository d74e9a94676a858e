"""Fixes of grids: those that lack an axis, and those that have another tensor's lengths than the one they are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.triton.host import idle_names, in_host
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Launch, launches
from grader.source.analysis.triton_axes import axes_given, axes_used, cuts
from grader.source.code_edits import fix, replace

MOST = 4
"""Counts that are tried for an axis."""


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the launches' grids with the axis that they lack, or by the lengths of the tensor that the kernel is given."""
    del context
    for launch in launches(source):
        if finding.rule == "MEM011":
            yield from _by_its_own_tensor(source, launch)
            continue
        given, used = axes_given(launch), axes_used(launch.kernel)
        grid = launch.grid.body if isinstance(launch.grid, ast.Lambda) else launch.grid
        if given is not None and given in used and isinstance(grid, ast.Tuple):
            parts = [source.text(one) for one in grid.elts]
            for count in list(counts(launch, given))[:MOST]:
                edit = replace(source, grid, f"({', '.join((*parts, count))})")
                yield from fix(f"give the grid a further axis of `{count}`", [edit])


def _by_its_own_tensor(source: Source, launch: Launch) -> Iterator[Fix]:
    """Yield a grid by the lengths of a tensor that is given to the kernel, where it has those of one that isn't."""
    given = {one.id for one in launch.arguments.values() if isinstance(one, ast.Name)}
    lengths = {n: at for n, at in _lengths(launch).items() if at[0] not in given}
    parts = [one for one in ast.walk(launch.grid) if isinstance(one, ast.Name) and one.id in lengths]  # fmt: skip
    tensors = [launch.arguments.get(p) for p in launch.kernel.parameters if p in launch.kernel.pointers]  # fmt: skip
    own = next((one.id for one in tensors if isinstance(one, ast.Name)), "")
    if not parts or not own or not isinstance(launch.call.func, ast.Subscript):
        return
    words, start = source.text(launch.grid), source.span(launch.grid)[0]
    for one in sorted(parts, key=lambda part: -source.span(part)[0]):
        a, b = (at - start for at in source.span(one))
        words = f"{words[:a]}{own}.shape[{lengths[one.id][1]}]{words[b:]}"
    yield from fix(f"launch as many programs as `{own}` needs", [replace(source, launch.call.func.slice, words)])  # fmt: skip


def _lengths(launch: Launch) -> dict[str, tuple[str, int]]:
    """Return of which tensor, and of which of its dims, each name of the host function is the length."""
    found: dict[str, tuple[str, int]] = {}
    for node in nodes_under(launch.host) if launch.host else ():
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)],
                value=ast.Attribute(value=ast.Name(id=tensor), attr="shape"),
            ):
                found |= {n.id: (tensor, at) for at, n in enumerate(names) if isinstance(n, ast.Name)}  # fmt: skip
    return found


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


FIX = FixMaker(("MEM008", "DEP001", "MEM011"), propose)
