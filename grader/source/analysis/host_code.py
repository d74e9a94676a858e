"""The host code of a launch: checks of sizes, tensors behind pointers, statements."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source import Source, nodes_under
from grader.source.analysis.cases import Case
from grader.source.code_edits import fix
from grader.source.cpp import Binary, Call, Declare, Expr, If, Items, Name, Number, walk
from grader.source.flow import Tensor
from grader.source.functions import Function
from grader.source.nodes import text
from grader.source.statements import insert_before

CHECKS = ("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL_ASSERT", "assert", "CHECK")


def are_sizes_checked(function: Function) -> bool:
    """Whether host code compares sizes with numbers, in a check or a branch."""
    for part in walk(function.code):
        tests: tuple[Expr, ...] = ()
        if isinstance(part, Call) and part.name.startswith(CHECKS):
            tests = part.args[:1]
        elif isinstance(part, If):
            tests = (part.test,)
        for test in tests:
            if any(_limits(inner) for inner in walk(test)):
                return True
    return False


def refuses(source: Source, case: Case) -> bool:
    """Whether the host code of a launch, or forward itself, tests sizes before it."""
    return are_sizes_checked(case.launch.host) or is_guarded(source)


def _limits(part: object) -> bool:
    if not isinstance(part, Binary):
        return False
    return part.op in {"<", "<=", ">", ">=", "%"} and not _against_zero(part)


def _against_zero(part: Binary) -> bool:
    return any(
        isinstance(side, Number) and side.value in {0, 1} for side in (part.left, part.right)
    )


def origin(tensor: Tensor | None) -> Tensor | None:
    """Return the original tensor that another one may share its memory with."""
    while (
        tensor is not None
        and tensor.source is not None
        and tensor.origin in {"contiguous", "derived"}
    ):
        tensor = tensor.source
    return tensor


def resolve(function: Function, expr: Expr, *, once: bool = False) -> Expr:
    """Return the initialiser behind a host variable: the last one, or with `once` the first."""
    for _ in range(1 if once else 4):
        if not isinstance(expr, Name):
            return expr
        name = expr.id
        init = next(
            (
                p.init
                for p in walk(function.code)
                if isinstance(p, Declare) and p.name == name and p.init
            ),
            None,
        )
        if init is None:
            return expr
        expr = init
    return expr


def grid_node(case: Case) -> Node:
    """Return the expression of a launch's grid."""
    expr = resolve(case.launch.host, case.launch.call.config[0])
    here: Node = expr.node
    outer = here.parent if isinstance(expr, Items) and here is not None else None
    return outer if outer is not None else here


def put_first(case: Case, line: str) -> list[Edit | None]:
    """Return the edit that begins the host function of a launch with a line."""
    body = case.launch.host.body
    kids = [c for c in body.named_children if c.type != "comment"] if body is not None else []
    return [insert_before(case.unit, one, line) for one in kids[:1]]


def made_by(case: Case, tensor: Tensor, old: str, new: str, label: str) -> Iterator[Fix]:
    """Return the fix that makes a tensor with another factory: `zeros_like` for `empty_like`."""
    function = tensor.node.child_by_field_name("function")
    name = text(function)
    if function is not None and old in name:
        edit = case.unit.edit(function.start_byte, function.end_byte, name.replace(old, new))
        yield from fix(label, [edit])


SIZES = frozenset({"size", "shape", "numel", "nelement", "data_ptr"})


@lru_cache(maxsize=16)
def is_guarded(source: Source) -> bool:
    """Whether forward, or what it calls, compares sizes with numbers in an assertion or a branch, as `n % 4` does."""
    return any(
        _limits_sizes(part)
        for function in source.module.reached
        if any(isinstance(n, ast.Attribute) and n.attr in SIZES for n in nodes_under(function))
        for node in nodes_under(function)
        if isinstance(node, ast.If | ast.IfExp | ast.Assert)
        for part in ast.walk(node.test)
    )


def _limits_sizes(part: ast.AST) -> bool:
    match part:
        case ast.BinOp(op=ast.Mod()) | ast.BinOp(op=ast.BitAnd(), right=ast.Constant()):
            return True
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[limit]):
            number = limit.value if isinstance(limit, ast.Constant) else None
            return number not in {0, 1} and not isinstance(number, float)
    return False
