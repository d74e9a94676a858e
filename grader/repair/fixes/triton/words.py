"""Fixes of words that Triton doesn't have: another library's names, torch's keywords, choices by `if`, constants of the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from grader.records import Context, Evidence, Finding, Fix, ToolMessage
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.rows import read_rows
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.names import names
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel
from grader.source.code_edits import (
    delete_keyword,
    delete_statement,
    fix,
    insert_line_before,
    replace,
)

TABLE = read_rows("triton", "words")
FOREIGN = frozenset({"torch", "np", "numpy", "math", "F"})
ELSEWHERE = frozenset({"tl.math", "tl.libdevice", "tl.extra.libdevice"})
LIBDEVICE = "tl.extra.cuda.libdevice"
_KEYWORD = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")
_GLOBAL = re.compile(r"global variable (?P<name>\w+)")


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield Triton's own word for each that was refused, on the lines that were."""
    del context
    for item in finding.evidence:
        lines = {place.line for place in (item.place, finding.place) if place}
        for scope in (one for one in scopes(source) if one.kernel and _holds(one.kernel, item)):
            make = MAKERS.get(item.code)
            yield from make(source, scope.kernel, item) if make and scope.kernel else ()
            yield from _own_words(scope, lines)


def _holds(kernel: Kernel, item: Evidence) -> bool:
    line = item.place.line if item.place else 0
    return kernel.node.lineno <= line <= (kernel.node.end_lineno or 0)


def _own_words(scope: Scope, lines: Collection[int]) -> Iterator[Fix]:
    """Yield what the table has for a refused line, made at all places of the kernel that are alike."""
    for row in TABLE:
        alike: dict[object, list[Candidate]] = {}
        for one in (one for node in scope.expressions for one in row.options(scope, node)):
            alike.setdefault(one.ways, []).append(one)
        for same in alike.values():
            pieces = [one.pieces[0] for one in same]
            inner = {
                id(part) for one in pieces for part in nodes_under(one.node) if part is not one.node
            }
            if any(one.line in lines for one in same):
                edits = [one.edit() for one in pieces if id(one.node) not in inner]
                yield from fix(f"`{pieces[0].code}` for `{pieces[0].old}`", edits)


def _of_line(kernel: Kernel, item: Evidence) -> Iterator[ast.AST]:
    line = item.place.line if item.place else 0
    return (node for node in ast.walk(kernel.node) if getattr(node, "lineno", 0) == line)


def _said(item: Evidence) -> str:
    return item.details.said if isinstance(item.details, ToolMessage) else ""


def _in_triton(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield `tl`'s function or type of the same name, and the one of NVIDIA's library."""
    refused = item.place.excerpt if item.place else ""
    named = [node for node in _of_line(kernel, item) if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in named}
    for node in (one for one in named if id(one) not in inner and source.text(one) in refused):
        root = source.text(node.value)
        homes = (
            ("tl", root.partition(".")[0] in FOREIGN or root in ELSEWHERE),
            (LIBDEVICE, root != LIBDEVICE and node.attr in names()["libdevice"]["names"]),
        )
        for home in (home for home, has_it in homes if has_it):
            edit = replace(source, node, f"{home}.{node.attr}")
            yield from fix(f"take `{edit.text}`", [edit])


def _keyword(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the call with Triton's name of the keyword, or without it."""
    named = _KEYWORD.search(_said(item))
    for call in _of_line(kernel, item):
        for word in call.keywords if named and isinstance(call, ast.Call) else ():
            if named and word.arg and word.arg == named["name"] and isinstance(call, ast.Call):
                new = names()["triton"].get(word.arg)
                edit = (
                    replace(source, word, f"{new}={source.text(word.value)}")
                    if new
                    else delete_keyword(source, call, word.arg)
                )
                yield from fix(f"{new or 'no'} for `{word.arg}`", [edit])


def _where(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield `tl.where` for a choice between two statements that set one name."""
    for node in _of_line(kernel, item):
        match node:
            case ast.If(test, [ast.Assign([to], one)], [ast.Assign([also], other)]) if source.text(to) == source.text(also):  # fmt: skip
                words = ", ".join(source.text(part) for part in (test, one, other))
                edit = replace(source, node, f"{source.text(to)} = tl.where({words})")
                yield from fix("choose by `tl.where`", [edit])


def _to_the_end(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the loop that goes on where it was to be left."""
    del item
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Break) and not node.orelse:
            yield from fix("go on to the loop's end", [delete_statement(source, node)])


def _constant(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the module's constant, or its function, as one that kernels see."""
    del kernel
    named = _GLOBAL.search(_said(item))
    for one in source.walk(ast.FunctionDef) if named else ():
        if named and one.name == named["name"]:
            yield from fix(
                "compile it with the kernel", [insert_line_before(source, one, "@triton.jit\n")]
            )
    for node in source.walk(ast.Assign) if named else ():
        if named and source.text(node.targets[0]) == named["name"]:
            edit = replace(source, node.value, f"tl.constexpr({source.text(node.value)})")
            yield from fix(f"make `{named['name']}` a tl.constexpr", [edit])


MAKERS: Mapping[str, Callable[[Source, Kernel, Evidence], Iterator[Fix]]] = {
    "undefined-name": _in_triton,
    "foreign-function": _in_triton,
    "foreign-library": _in_triton,
    "other-parameters": _keyword,
    "choice-by-block": _where,
    "global-of-module": _constant,
    "unsupported-construct": _to_the_end,
}
"""By the codes of `grader.languages.triton.refused`."""
FIX = FixMaker(("BLD021",), propose)
