"""Other numbers that an author may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.idle import idle_elements
from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import Option, Scope, parts
from grader.source.cuda_code import around, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

CONSTANTS = (
    0.5,
    1.0,
    2.0,
    3.0,
    6.0,
    20.0,
    0.044715,
    0.7978845608028654,
    0.7071067811865476,
    1.4142135623730951,
    1.702,
    0.6931471805599453,
    1.4426950408889634,
    1.0507009873554805,
    1.6732632423543772,
    0.01,
    0.1,
    1e-5,
    1e-6,
    1e-8,
    1e-12,
)
"""Numbers that formulas of this field are made of."""


def literal(scope: Scope, node: Node) -> Iterator[Option]:
    """Another number: one more or less, the start value of another reduction, a well-known constant."""
    if node.type != "number_literal":
        return
    words = text(node)
    if re.fullmatch(r"[0-4]", words) and _is_dim(node):
        yield from ((str(k), 1.8) for k in range(5) if k != int(words))
    elif re.fullmatch(r"\d+", words):
        yield from _whole(int(words))
        yield from _fraction(scope, node)
        yield from _stride(scope, node)
    elif re.fullmatch(r"0x[0-9a-fA-F]+u?", words):
        if words.lower().rstrip("u") != "0xffffffff":
            yield "0xffffffff", 1.5
    else:
        yield from _real(words)
        if words.rstrip("fF") in {"0.0", "0."}:
            yield from ((element, 1.5) for element in idle_elements(scope, node.start_byte))


def _is_dim(node: Node) -> bool:
    outer = node.parent.parent if node.parent is not None else None
    return outer is not None and outer.type == "call_expression" and read_call(outer).last == "size"


def _whole(value: int) -> Iterator[Option]:
    near = {value + 1: 2.5, value - 1: 2.5, value * 2: 2.5}
    if value % 2 == 0 and value:
        near[value // 2] = 2.5
    if value in {0, 1}:
        near |= {2: 4.0, 3: 4.5} if value else {2: 4.5, 32: 6.0}
    if value in {8, 16, 31, 32, 33, 64}:
        near |= {16: 2.0, 31: 2.5, 32: 2.0}
    for other, cost in near.items():
        if other >= 0 and other != value:
            yield str(other), cost


def _real(words: str) -> Iterator[Option]:
    suffix = "f" if words[-1] in "fF" else ""
    try:
        value = float(words.rstrip("fFlL"))
    except ValueError:
        return
    if value == 0:
        yield "-INFINITY", 2.0
        yield "INFINITY", 2.5
        yield f"1.0{suffix}", 2.0
    elif abs(value) > 1e9:
        yield f"0.0{suffix}", 2.5
        yield "-INFINITY", 2.0
        yield "INFINITY", 2.5
    elif value == 1:
        yield f"0.0{suffix}", 2.5
    for other in CONSTANTS:
        if (
            other != value
            and value
            and (abs(other / value - 1) < 0.5 or (value < 0.01 and other < 0.01))
        ):
            yield f"{other!r}{suffix}", 2.0 if abs(other / value - 1) < 0.2 else 3.0
    if value:
        for factor in (0.5, 2.0):
            yield f"{value * factor!r}{suffix}", 3.5


def _fraction(scope: Scope, node: Node) -> Iterator[Option]:
    """`1.0f / n` for `1 / n`, which is zero."""
    parent = node.parent
    if parent is None or parent.type != "binary_expression" or parts(parent)[1] != "/":
        return
    if kind_of(scope, parent) == "integer" and any(
        kind_of(scope, o) == "real" for o in around(parent)
    ):
        yield f"{text(node)}.0f", 1.0


def _stride(scope: Scope, node: Node) -> Iterator[Option]:
    """`row * n` for `row * 32`."""
    parent = node.parent
    if scope.function.runs == "host" or parent is None or parent.type != "binary_expression":
        return
    if parts(parent)[1] == "*" and kind_of(scope, parent) == "integer":
        for name in scope.integer_parameters:
            yield name, 2.5
