"""Other expressions that an author may have meant: one function for each kind of slip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import Option, Scope, is_target, loop_of, parts, stored_in
from grader.source.cuda_code import text

if TYPE_CHECKING:
    from tree_sitter import Node

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}


def comparison(scope: Scope, node: Node) -> Iterator[Option]:
    """`<` for `<=`, a bound that the condition leaves out, a part of it that is too much."""
    if node.type != "binary_expression":
        return
    left, sign, right = parts(node)
    if sign in COMPARISONS:
        yield f"{left} {COMPARISONS[sign]} {right}", 1.0 if sign not in {"==", "!="} else 4.0
    if sign in OPPOSITE:
        yield (
            f"{left} {OPPOSITE[sign]} {right}",
            2.5 if kind_of(scope, node.child_by_field_name("left")) == "real" else 4.0,
        )
        yield from _without_addend(node, sign, right)
    if sign == "&&":
        yield left, 5.0
        yield right, 5.0
        yield f"{left} || {right}", 5.0
    if sign == "||":
        yield f"{left} && {right}", 3.0
    outer = node.parent
    chained = outer is not None and outer.type == "binary_expression" and "&&" in parts(outer)[1]
    if not chained and (sign == "&&" or sign in {">=", "<"}):
        yield from _bounded(scope, node)


def _without_addend(node: Node, sign: str, right: str) -> Iterator[Option]:
    """`i < n` for `i + STEP <= n`: the last part of a loop is one too."""
    left = node.child_by_field_name("left")
    if left is not None and left.type == "binary_expression" and parts(left)[1] in {"+", "-"}:
        yield f"{parts(left)[0]} {sign.replace('=', '')} {right}", 2.5


def _bounded(scope: Scope, node: Node) -> Iterator[Option]:
    """Add the bound that a variable lacks: `v >= 0` without `v < n`, or the other way round."""
    words = text(node)
    low = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)\s*>=\s*0\b", words))
    high = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)\s*<\s*\w", words))
    for name in sorted(low - high):
        for bound in scope.integer_parameters:
            if bound != name and not re.search(rf"<\s*{bound}\b", words):
                yield f"{words} && {name} < {bound}", 1.5
    for name in sorted(high - low):
        yield f"{words} && {name} >= 0", 3.0


def arithmetic(scope: Scope, node: Node) -> Iterator[Option]:
    """Another sign, operands the other way round, a division that is rounded up."""
    if node.type != "binary_expression":
        return
    left, sign, right = parts(node)
    if sign not in ARITHMETIC:
        return
    yield f"{left} {ARITHMETIC[sign]} {right}", 3.0
    if sign in {"-", "/"}:
        yield f"{right} {sign} {left}", 4.0
    whole = kind_of(scope, node) == "integer"
    if sign == "/" and whole:
        yield f"({left} + {right} - 1) / {right}", 1.2
    if sign in {"+", "-"}:
        yield left, 1.5 if right == "1" else 2.5 if whole and right.isdigit() else 4.0
    if sign in {"*", "/"}:
        averaged = not whole and kind_of(scope, node.child_by_field_name("right")) == "integer"
        yield left, 2.5 if sign == "/" and averaged else 3.5
    if sign in {"*", "-"}:
        yield right, 4.5
    if sign == "/" and re.fullmatch(r"\(?[A-Za-z_]\w*\)?", right) and not whole:
        yield f"{left} / ({right} - 1)", 4.0


def assignment(scope: Scope, node: Node) -> Iterator[Option]:
    """`+=` for `=`, and the other way round; a step of a loop that is too short or too long."""
    if node.type != "assignment_expression" or not any(
        kind_of(scope, node.child_by_field_name(side)) for side in ("left", "right")
    ):
        return
    left, sign, right = parts(node)
    if loop_of(node) is not None:
        if sign == "+=":
            for step in ("1", "blockDim.x", "gridDim.x", "blockDim.x * gridDim.x", "32"):
                if step != right:
                    yield f"{left} += {step}", 2.5
        return
    if sign == "=" and not stored_in(node):
        yield f"{left} += {right}", 2.0
        yield f"{left} *= {right}", 4.0
    elif sign == "=":
        yield f"{left} += {right}", 2.0 if right.startswith(f"{stored_in(node)}[") else 4.0
    if sign in {"+=", "*=", "-="}:
        for other in ("=", "+=", "-=", "*="):
            if other != sign:
                yield f"{left} {other} {right}", 3.0


def step(scope: Scope, node: Node) -> Iterator[Option]:
    """`i += blockDim.x` for `i++` in the head of a loop."""
    if node.type != "update_expression" or loop_of(node) is None:
        return
    name = text(node.child_by_field_name("argument"))
    if scope.function.runs == "host":
        return
    for width in ("blockDim.x", "blockDim.x * gridDim.x", "32"):
        yield f"{name} += {width}", 3.0


def sign(scope: Scope, node: Node) -> Iterator[Option]:
    """Leave out a minus or a `not` that is too much."""
    del scope
    if node.type == "unary_expression" and text(node)[:1] in "-!" and not is_target(node):
        yield text(node)[1:].strip(), 4.0


def choice(scope: Scope, node: Node) -> Iterator[Option]:
    """Take the two sides of `? :` the other way round, or one of them always."""
    del scope
    if node.type != "conditional_expression":
        return
    parts = [text(node.child_by_field_name(f)) for f in ("condition", "consequence", "alternative")]
    if all(parts):
        yield f"{parts[0]} ? {parts[2]} : {parts[1]}", 3.0
        yield from ((f"({side})", 3.5) for side in parts[1:])
