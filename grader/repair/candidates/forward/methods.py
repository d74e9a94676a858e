"""What `forward` is made of: the method as a tree, and what each of its expressions is applied to."""

from __future__ import annotations

import ast
from collections.abc import Collection

from grader.source import dotted_name, nodes_under, read_python


def forward_of(code: str, name: str) -> ast.FunctionDef | None:
    """Return the method of the last class of that name; None where there is none, or no Python."""
    tree, _ = read_python(code)
    body = tree.body if tree is not None else []
    models = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
    methods = [n for n in (models[-1].body if models else ()) if isinstance(n, ast.FunctionDef)]
    return next((method for method in methods if method.name == "forward"), None)


def stored_names(function: ast.AST) -> set[str]:
    """Return the names that are assigned to."""
    names = (node for node in nodes_under(function) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def applied_to(value: ast.expr, tensors: Collection[str]) -> ast.expr | None:
    """Return the operand that an expression changes; `tensors` are the names of variables, whose methods count."""
    match value:
        case ast.Call(func=ast.Attribute(value=owner)) if _is_tensor(owner, tensors):
            return owner
        case ast.Call(args=[first, *_]) if not isinstance(
            first, ast.Starred | ast.List | ast.Tuple
        ):
            return first
        case ast.BinOp(left=ast.Constant() | ast.Attribute(), right=right):
            return right
        case ast.BinOp(left=left):
            return left
        case ast.Subscript(value=owner) if _is_tensor(owner, tensors):
            return owner
    return None


def _is_tensor(owner: ast.expr, tensors: Collection[str]) -> bool:
    """Whether the owner of a method is a value, and no module."""
    if isinstance(owner, ast.Name):
        return owner.id in tensors
    return not dotted_name(owner)
