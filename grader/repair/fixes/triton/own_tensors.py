"""Fixes of kernels that write into what the caller gave: a tensor of their own, or a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Launch, launches
from grader.source.code_edits import fix, insert_line_before, replace

OWN = "own"


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield, for each launch that stores through a name, a tensor of its own in its place, and a copy of it."""
    del finding, context
    for launch in launches(source):
        kernel = launch.kernel
        stored = {kernel.parameter_of(one) for one in kernel.accesses if one.kind != "load"}
        for name in sorted(stored & set(launch.arguments)):
            given = launch.arguments[name]
            if isinstance(given, ast.Name) and launch.host is not None:
                yield from _of_its_own(source, launch, launch.host, given)
                yield from _copy_first(source, launch.host, given.id)


def _of_its_own(
    source: Source, launch: Launch, host: ast.FunctionDef, given: ast.Name
) -> Iterator[Fix]:
    """Yield the launch with a new tensor, which is also used after it."""
    after = [
        node
        for node in nodes_under(host)
        if isinstance(node, ast.Name) and node.id == given.id and isinstance(node.ctx, ast.Load)
        if node.lineno > (launch.call.end_lineno or 0)
    ]
    around = source.module.ancestors(launch.call)
    statement = next(one for one in around if isinstance(one, ast.stmt))
    words = f"{' ' * statement.col_offset}{OWN} = torch.empty_like({given.id})"
    made = insert_line_before(source, statement, words)
    edits = [made, *(replace(source, node, OWN) for node in (given, *after))]
    yield from fix(f"store to a tensor of its own, not to `{given.id}`", edits)


def _copy_first(source: Source, host: ast.FunctionDef, name: str) -> Iterator[Fix]:
    if name in {one.arg for one in host.args.args}:
        first = host.body[0]
        words = f"{' ' * first.col_offset}{name} = {name}.clone()"
        yield from fix(f"work on a copy of `{name}`", [insert_line_before(source, first, words)])


FIX = FixMaker(("MEM010",), propose)
