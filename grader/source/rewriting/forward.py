"""Edits of `forward` around a right kernel: what is handed to it, and what is done with what it gives back."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from grader.records import Edit
from grader.source import Source, nodes_under
from grader.source.python_code import PythonCode


def after_results(source: Source, code: PythonCode, suffix: str) -> list[Edit | None]:
    """Return the edits that put a method call after what `forward` returns."""
    forward = code.method("forward")
    edits: list[Edit | None] = []
    for node in nodes_under(forward) if forward is not None else ():
        if not isinstance(node, ast.Return) or code.function_of(node) is not forward:
            continue
        if node.value is None or isinstance(node.value, ast.Tuple | ast.List):
            return []
        start, end = source.span(node.value)
        plain = isinstance(node.value, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        edits += [] if plain else [Edit(start=start, end=start, text="(")]
        edits.append(Edit(start=end, end=end, text=suffix if plain else f"){suffix}"))
    return edits


def at_the_start(source: Source, code: PythonCode, lines: Sequence[str]) -> Edit | None:
    """Return the edit that puts statements at the beginning of `forward`; `{}` stands for its indentation."""
    forward = code.method("forward")
    if forward is None or not lines:
        return None
    first = forward.body[0]
    has_words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    first = forward.body[1] if has_words and len(forward.body) > 1 else first
    at, _ = source.span(first)
    indent = " " * first.col_offset
    text = "".join(f"{line}\n{indent}" for line in lines)
    return Edit(start=at, end=at, text=text.replace("{}", indent))
