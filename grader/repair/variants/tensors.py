"""Slips of host code that computes with torch's own operations, or hands the work to cuBLAS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Option, Scope, plain_type
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

VIEWS = {"unsqueeze", "squeeze", "t", "transpose", "permute", "contiguous", "flip"}
"""Methods that give a tensor's elements in another form."""
MOVED = {
    "permute",
    "transpose",
    "t",
    "movedim",
    "swapaxes",
    "expand",
    "expand_as",
    "select",
    "slice",
    "narrow",
}
"""Methods after which the elements no longer lie in memory in their order."""
PRODUCTS = {"matmul", "mm", "bmm", "linear", "mv", "dot"}
_TORCH = re.compile(r"(?:torch|at)(?:::nn::functional)?::(?!empty|zeros|ones|full|arange)\w+")
FLAGS = {
    "CUBLAS_OP_N": "CUBLAS_OP_T",
    "CUBLAS_SIDE_LEFT": "CUBLAS_SIDE_RIGHT",
    "CUBLAS_FILL_MODE_UPPER": "CUBLAS_FILL_MODE_LOWER",
    "CUBLAS_DIAG_UNIT": "CUBLAS_DIAG_NON_UNIT",
}
"""What a call of cuBLAS is told, and the opposite."""
_OPPOSITE = {**FLAGS, **{there: here for here, there in FLAGS.items()}}


def view(scope: Scope, node: Node) -> Iterator[Option]:
    """`bias` for `bias.unsqueeze(0).unsqueeze(2)`: without the last changes of form, or all of them."""
    if scope.function.runs != "host" or node.type != "call_expression":
        return
    cost = 2.5
    inner: Node | None = node
    while inner is not None and inner.type == "call_expression":
        made = read_call(inner)
        if made.object is None or made.last not in VIEWS:
            return
        yield text(made.object), cost
        inner, cost = made.object, cost + 0.3


def packed(scope: Scope, node: Node) -> Iterator[Option]:
    """`x.permute(dims).contiguous()` for `x.permute(dims)`: a kernel reads the elements in the order of memory."""
    if scope.function.runs != "host" or node.type != "call_expression":
        return
    made, outer = read_call(node), node.parent
    goes_on = outer is not None and outer.type == "field_expression"
    if made.object is not None and made.last in MOVED and not goes_on:
        yield f"{text(node)}.contiguous()", 1.2


def operand(scope: Scope, node: Node) -> Iterator[Option]:
    """`b.t()` for `b` where a product takes it."""
    outer = node.parent.parent if node.parent is not None else None
    if scope.function.runs != "host" or outer is None or outer.type != "call_expression":
        return
    if node.type == "identifier" and read_call(outer).last in PRODUCTS:
        yield f"{text(node)}.t()", 2.5


def filled(scope: Scope, node: Node) -> Iterator[Option]:
    """`bias.defined() && bias.numel() > 0` for `bias.defined()`: an empty tensor in the place of none is defined."""
    if scope.function.runs != "host" or node.type != "call_expression":
        return
    made = read_call(node)
    if made.object is not None and made.last in {"defined", "has_value"}:
        tensor = text(made.object) + (".value()" if made.last == "has_value" else "")
        yield f"{text(node)} && {tensor}.numel() > 0", 1.2


def truth(scope: Scope, node: Node) -> Iterator[Option]:
    """Say `true` for `false`, as in `keepdim`."""
    if scope.function.runs == "host" and node.type in {"true", "false"}:
        yield "false" if node.type == "true" else "true", 3.0


def forgotten(scope: Scope, node: Node) -> Iterator[Option]:
    """Add a tensor that the function is given and never looks at: a bias, say."""
    if scope.function.runs != "host" or node.type != "call_expression":
        return
    if not _TORCH.fullmatch(read_call(node).name):
        return
    for name in _unread(scope):
        yield f"({text(node)} + {name})", 1.5
        yield f"({text(node)} * {name})", 3.0


def _unread(scope: Scope) -> list[str]:
    """Return the tensors that a function is given and doesn't use."""
    body = scope.function.body
    used = {text(inner) for inner in descendants(body, "identifier")} if body is not None else set()
    given = (p for p in scope.function.parameters if plain_type(p.type).endswith("Tensor"))
    return [p.name for p in given if p.name not in used]


def flag(scope: Scope, node: Node) -> Iterator[Option]:
    """`CUBLAS_SIDE_RIGHT` for `CUBLAS_SIDE_LEFT`: cuBLAS takes a row-major matrix for its transpose."""
    if scope.function.runs == "host" and text(node) in _OPPOSITE:
        yield _OPPOSITE[text(node)], 1.5
