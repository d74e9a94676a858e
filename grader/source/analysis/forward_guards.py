"""Tests of sizes in forward itself: a submission may refuse a shape, or take another branch, in Python."""

import ast
from functools import lru_cache

from grader.source import Source, nodes_under

SIZES = frozenset({"size", "shape", "numel", "nelement", "data_ptr"})


@lru_cache(maxsize=16)
def is_guarded(source: Source) -> bool:
    """Whether forward, or what it calls, compares sizes with numbers in an assertion or a branch, as `n % 4` does."""
    return any(
        _limits(part)
        for function in source.module.reached
        if any(isinstance(n, ast.Attribute) and n.attr in SIZES for n in nodes_under(function))
        for node in nodes_under(function)
        if isinstance(node, ast.If | ast.IfExp | ast.Assert)
        for part in ast.walk(node.test)
    )


def _limits(part: ast.AST) -> bool:
    match part:
        case ast.BinOp(op=ast.Mod()) | ast.BinOp(op=ast.BitAnd(), right=ast.Constant()):
            return True
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[limit]):
            number = limit.value if isinstance(limit, ast.Constant) else None
            return number not in {0, 1} and not isinstance(number, float)
    return False
