"""Fixes of names and constructs that Triton lacks: other libraries' names, torch's keywords, `if` on tensors, module constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from grader.records import Context, Evidence, Finding, Fix, ToolMessage
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.rewrites import replacements
from grader.repair.candidates.rows import read_rows
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel
from grader.source.code_edits import (
    delete_keyword,
    fix,
    insert_line_before,
    replace,
)

TABLE = read_rows("triton", "words")
_KEYWORD = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")
_GLOBAL = re.compile(r"(?:global variable |no function `)(?P<name>\w+)")


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield Triton's own name for each refused one, on the refused lines."""
    del context
    for item in finding.evidence:
        lines = {place.line for place in (item.place, finding.place) if place}
        for scope in (one for one in scopes(source) if one.kernel and one.kernel.holds(item.place)):
            yield from _own_words(scope, lines)
            make = MAKERS.get(item.code)
            yield from make(source, scope.kernel, item) if make and scope.kernel else ()


def _own_words(scope: Scope, lines: Collection[int]) -> Iterator[Fix]:
    """Yield the table's fix for a refused line, applied at all similar places of the kernel."""
    for row in TABLE:
        alike: dict[object, list[Candidate]] = {}
        for one in (one for node in scope.expressions for one in replacements(row, scope, node)):
            alike.setdefault(one.ways, []).append(one)
        for same in alike.values():
            pieces = [one.pieces[0] for one in same]
            inner = {id(part) for one in pieces for part in [*nodes_under(one.node)][1:]}
            if any(one.line in lines for one in same):
                edits = [one.edit() for one in pieces if id(one.node) not in inner]
                yield from fix(f"`{pieces[0].code}` for `{pieces[0].old}`", edits)


def _of_line(kernel: Kernel, item: Evidence) -> Iterator[ast.AST]:
    line = item.place.line if item.place else 0
    return (node for node in ast.walk(kernel.node) if getattr(node, "lineno", 0) == line)


def _said_by_tool(item: Evidence) -> str:
    return item.details.said if isinstance(item.details, ToolMessage) else ""


def _keyword(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the call without the keyword that was refused."""
    named = _KEYWORD.search(_said_by_tool(item))
    for call in _of_line(kernel, item):
        given = call.keywords if named and isinstance(call, ast.Call) else ()
        for word in (one.arg for one in given if named and one.arg == named["name"]):
            if word and isinstance(call, ast.Call):
                yield from fix(f"no `{word}`", [delete_keyword(source, call, word)])


def _where(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield `tl.where` for a choice between two statements that set one name."""
    for node in _of_line(kernel, item):
        match node:
            case ast.If(test, [ast.Assign([to], one)], [ast.Assign([also], other)]) if source.text(to) == source.text(also):  # fmt: skip
                words = ", ".join(source.text(part) for part in (test, one, other))
                edit = replace(source, node, f"{source.text(to)} = tl.where({words})")
                yield from fix("choose by `tl.where`", [edit])


def _constant(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the module's constant or function in a form that is visible to kernels."""
    del kernel
    named = _GLOBAL.search(_said_by_tool(item))
    for node in source.module.tree.body if named else ():
        if isinstance(node, ast.FunctionDef) and named and node.name == named["name"]:
            edit = insert_line_before(source, node, "@triton.jit\n")
            yield from fix("compile it with the kernel", [edit])
        elif (
            isinstance(node, ast.Assign) and named and source.text(node.targets[0]) == named["name"]
        ):
            edit = replace(source, node.value, f"tl.constexpr({source.text(node.value)})")
            yield from fix(f"make `{named['name']}` a tl.constexpr", [edit])


MAKERS: Mapping[str, Callable[[Source, Kernel, Evidence], Iterator[Fix]]] = {
    "other-parameters": _keyword,
    "choice-by-block": _where,
    "global-of-module": _constant,
}
"""By the codes of `grader.languages.triton.refused`."""
FIX = FixMaker(("BLD021",), propose)
