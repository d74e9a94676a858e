"""A class's `forward`, read from a program's text, and what its changes are made of."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from grader.records import Edit
from grader.source import nodes_under, read_python

Change = tuple[str, Sequence[Edit], float]
"""What it does, its edits, and how unlikely it is."""


def forward_of(code: str, name: str) -> ast.FunctionDef | None:
    """Return the method of the last class of that name; None where there is none, or no Python."""
    tree, _ = read_python(code)
    body = tree.body if tree is not None else []
    models = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
    methods = [n for n in (models[-1].body if models else ()) if isinstance(n, ast.FunctionDef)]
    return next((method for method in methods if method.name == "forward"), None)


def stored(function: ast.AST) -> set[str]:
    """Return the names that are assigned to."""
    names = (node for node in nodes_under(function) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}
