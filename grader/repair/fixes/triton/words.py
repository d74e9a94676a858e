"""Fixes of words that Triton doesn't have: another library's names, torch's keywords, choices by `if`, constants of the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from grader.records import Context, Evidence, Finding, Fix, ToolMessage
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.names import names
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels
from grader.source.code_edits import delete_keyword, fix, replace

FOREIGN = frozenset({"torch", "np", "numpy", "math"})
LIBDEVICE = "tl.extra.cuda.libdevice"
_KEYWORD = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")
_GLOBAL = re.compile(r"global variable (?P<name>\w+)")


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield Triton's own word for each that was refused, on the lines that were."""
    del context
    for item in finding.evidence:
        make = MAKERS.get(item.code)
        line = item.place.line if item.place else 0
        for kernel in kernels(source):
            if make and kernel.node.lineno <= line <= (kernel.node.end_lineno or 0):
                yield from make(source, kernel, item)


def _of_line(kernel: Kernel, item: Evidence) -> Iterator[ast.AST]:
    line = item.place.line if item.place else 0
    return (node for node in ast.walk(kernel.node) if getattr(node, "lineno", 0) == line)


def _said_by_tool(item: Evidence) -> str:
    return item.details.said if isinstance(item.details, ToolMessage) else ""


def _in_triton(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield `tl`'s function or type of the same name, and the one of NVIDIA's library."""
    refused = item.place.excerpt if item.place else ""
    named = [node for node in _of_line(kernel, item) if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in named}
    for node in named:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        whole = id(node) not in inner and source.text(node) in refused
        if whole and isinstance(root, ast.Name):
            homes = (
                ("tl", root.id in FOREIGN),
                (LIBDEVICE, node.attr in names()["libdevice"]["names"]),
            )
            for home in (home for home, has_it in homes if has_it):
                edit = replace(source, node, f"{home}.{node.attr}")
                yield from fix(f"take `{edit.text}`", [edit])


def _keyword(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the call with Triton's name of the keyword, or without it."""
    named = _KEYWORD.search(_said_by_tool(item))
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
    """Yield `tl.where` for a choice between two values, or between two statements that set one name."""
    for node in _of_line(kernel, item):
        match node:
            case ast.IfExp(test, one, other):
                head = ""
            case ast.If(test, [ast.Assign([to], one)], [ast.Assign([also], other)]) if source.text(to) == source.text(also):  # fmt: skip
                head = f"{source.text(to)} = "
            case _:
                continue
        words = ", ".join(source.text(part) for part in (test, one, other))
        yield from fix("choose by `tl.where`", [replace(source, node, f"{head}tl.where({words})")])


def _constant(source: Source, kernel: Kernel, item: Evidence) -> Iterator[Fix]:
    """Yield the module's constant as one that kernels see."""
    del kernel
    named = _GLOBAL.search(_said_by_tool(item))
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
}
"""By the codes of `grader.languages.triton.refused`."""
FIX = FixMaker(("BLD021",), propose)
