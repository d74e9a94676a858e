"""The statements of a Python module that others depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence


def needed_statements(body: Sequence[ast.stmt], names: Iterable[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, directly or as dependencies, in order."""
    asked, kept = set(names), set[ast.stmt]()
    while more := [one for one in body if one not in kept and _bound_names(one) & asked]:
        kept.update(more)
        asked = asked.union(*map(names_used, more))
    return [one for one in body if one in kept]


def names_used(node: ast.AST) -> set[str]:
    """Return every name in a part of a program."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _bound_names(node: ast.stmt) -> set[str]:
    """Return the names that a definition, an import or an assignment binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return {name for target in targets for name in names_used(target)}
