"""What a Python expression is applied to: `x` in `torch.relu(x)`, in `x * 2` and in `x.mean(1)`."""

from __future__ import annotations

import ast
from collections.abc import Collection

from grader.source import dotted


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
    return not dotted(owner)


def chain(value: ast.expr, tensors: Collection[str]) -> list[ast.expr]:
    """Return the operands of an expression from the outside in."""
    found: list[ast.expr] = []
    here = applied_to(value, tensors)
    while here is not None:
        found.append(here)
        here = applied_to(here, tensors)
    return found
