"""The lines of a Triton program that what evidence names is made of."""

from __future__ import annotations

import ast
from collections.abc import Collection

from grader.repair.candidates.triton.function import names_in
from grader.source import Source
from grader.source.analysis.triton import kernels, launches


def lines_behind(source: Source, lines: Collection[int]) -> frozenset[int]:
    """Return the lines that what stands on some lines is made of, and these themselves.

    A kernel's parameter is made by its launch. Loops and conditions around a line count as what it is made of.
    """
    found, todo = set(lines), list(lines)
    while todo:
        made = _made_at(source, todo.pop()) - found
        found |= made
        todo += made
    return frozenset(found)


def _made_at(source: Source, line: int) -> set[int]:
    """Return the lines that make what one line uses."""
    found: set[int] = set()
    for function in source.walk(ast.FunctionDef):
        if not function.lineno <= line <= (function.end_lineno or 0):
            continue
        statements = [
            one for one in ast.walk(function) if isinstance(one, ast.stmt) and one is not function
        ]
        around = [one for one in statements if one.lineno <= line <= (one.end_lineno or 0)]
        used = {
            name
            for one in around
            for name in (names_in(one) if not hasattr(one, "body") else _head(one))
        }
        found |= {one.lineno for one in around}
        found |= {one.lineno for one in statements if _stored_names(one) & used}
        known = next((kernel for kernel in kernels(source) if kernel.node is function), None)
        if known is not None and used & set(known.parameters):
            found |= {one.call.lineno for one in launches(source) if one.kernel is known}
    return found - {line}


def _head(node: ast.stmt) -> set[str]:
    """Return the names in what a loop or a condition begins with."""
    return {
        name
        for field in ("iter", "test")
        if (part := getattr(node, field, None))
        for name in names_in(part)
    }


def _stored_names(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {name for target in targets if target is not None for name in names_in(target)}
