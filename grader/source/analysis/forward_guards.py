"""Tests of sizes in forward itself: a submission may refuse a shape, or take another way, in Python."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.source import Source, nodes_under

SIZES = frozenset({"size", "shape", "numel", "nelement", "data_ptr"})


@lru_cache(maxsize=16)
def is_guarded(source: Source) -> bool:
    """Whether forward, or what it calls, compares sizes with numbers in an assertion or a branch, as `n % 4` does."""
    code = source.module
    return code is not None and any(
        _limits(part, names)
        for function in code.reached
        if (tests := tuple(_tests(function)))
        for names in (_sizes(function),)
        for test in tests
        for part in ast.walk(test)
    )


def _tests(function: ast.AST) -> Iterator[ast.expr]:
    for node in nodes_under(function):
        if isinstance(node, ast.If | ast.IfExp | ast.Assert):
            yield node.test


def _sizes(function: ast.AST) -> set[str]:
    """Return the variables that hold sizes."""
    return {
        name.id
        for node in nodes_under(function)
        if isinstance(node, ast.Assign) and _of_sizes(node.value, set())
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def _of_sizes(node: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(part, ast.Attribute) and part.attr in SIZES)
        or (isinstance(part, ast.Name) and part.id in names)
        for part in ast.walk(node)
    )


def _limits(part: ast.AST, names: set[str]) -> bool:
    match part:
        case (
            ast.BinOp(left=left, op=ast.Mod())
            | ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Constant())
        ):
            return _of_sizes(left, names)
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            right = part.comparators[0]
            plain = isinstance(right, ast.Constant) and right.value in {0, 1}
            return not plain and _of_sizes(left, names)
    return False
