"""The allocation in Python of `forward`'s result, and the expressions of its lengths."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.source.analysis.data_flow import assignments, returns
from grader.source.python_code import Function, PythonCode
from grader.source.scopes import nodes_under

FUNCTIONS = frozenset({"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "empty_strided"})  # fmt: skip
METHODS = frozenset({"new_empty", "new_zeros", "new_ones", "new_full"})
KEEPS_FORM = frozenset({"contiguous", "clone", "detach", "requires_grad_"})
DEPTH = 6
"""Most calls followed from `forward` to the allocation of its result."""


def allocation_of_result(code: PythonCode) -> ast.Call | None:
    """Return the call that makes the only tensor which `forward` returns; None where torch computes it, or it isn't clear."""
    forward = code.method("forward")
    return _made_by(code, forward, DEPTH) if forward is not None else None


def length_written(code: PythonCode, made: ast.Call, axis: int, rank: int) -> ast.expr | None:
    """Return the expression of an axis's length: in the allocation, or in the only assignment of its name."""
    lengths = _lengths(made)
    if len(lengths) != rank or any(isinstance(one, ast.Starred) for one in lengths):
        return None
    length, function = lengths[axis], code.function_of(made)
    if not isinstance(length, ast.Name) or function is None:
        return length
    stored = [one for one in nodes_under(function) if isinstance(one, ast.Name) and one.id == length.id]  # fmt: skip
    values = [one.value for one in assignments(function, length.id)]
    once = sum(isinstance(one.ctx, ast.Store) for one in stored) == 1
    return values[0] if once and values else length


def _made_by(code: PythonCode, function: Function, depth: int) -> ast.Call | None:
    """Return the call that makes a function's returned tensor, where all of its returns agree."""
    mine = (_maker(code, function, value, depth) for _, value in returns(code, function))
    found = {id(made): made for made in mine if made}
    return next(iter(found.values())) if len(found) == 1 else None


def _maker(
    code: PythonCode, function: Function, value: ast.expr | None, depth: int
) -> ast.Call | None:
    if isinstance(value, ast.Name):
        values = [one.value for one in assignments(function, value.id)]
        return _maker(code, function, values[-1], depth - 1) if values and depth else None
    if not isinstance(value, ast.Call) or not depth:
        return None
    name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if name in METHODS or code.canonical(value.func).removeprefix("torch.") in FUNCTIONS:
        return value
    if name in KEEPS_FORM and isinstance(value.func, ast.Attribute):
        return _maker(code, function, value.func.value, depth - 1)
    called = list(_functions_called(code, value))
    return _made_by(code, called[0], depth - 1) if len(called) == 1 else None


def _functions_called(code: PythonCode, call: ast.Call) -> Iterator[Function]:
    """Yield the functions and methods of the module that a call may mean, by their name; `apply` of a class is its `forward`."""
    match call.func:
        case ast.Name(id=name) if name in code.functions:
            yield code.functions[name]
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            whole = code.classes.get(owner)
            within = nodes_under(whole if whole is not None else code.tree)
            methods = [f for f in within if isinstance(f, Function) and code.class_of(f)]
            named = [f for f in methods if f.name == name]
            own = [f for f in methods if f.name == "forward"] if whole is not None else []
            yield from named or (own if name == "apply" else [])


def _lengths(made: ast.Call) -> list[ast.expr]:
    given = made.args
    if len(given) == 1 or (given and isinstance(given[0], ast.Tuple | ast.List)):
        return list(given[0].elts) if isinstance(given[0], ast.Tuple | ast.List) else [given[0]]
    return list(given)
