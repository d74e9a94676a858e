"""Two expressions the other way round: arguments, axes of a grid, parts of an index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import Scope, expressions, parts
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node


def exchanged(scope: Scope) -> Iterator[Variant]:
    """Yield the changes that exchange two expressions of a function."""
    yield from _arguments(scope)
    yield from _axes(scope)
    yield from _grid_and_block(scope)
    yield from _parts_of_an_index(scope)


def _both(scope: Scope, first: Node, second: Node, cost: float) -> Variant:
    return _pair(scope, (first, text(second)), (second, text(first)), cost)


def _pair(scope: Scope, first: tuple[Node, str], second: tuple[Node, str], cost: float) -> Variant:
    pieces = (Piece(scope.unit, node, "replace", words) for node, words in (first, second))
    return Variant(tuple(pieces), cost)


def _arguments(scope: Scope) -> Iterator[Variant]:
    """Exchange neighbouring arguments of one type, in launches and calls of own functions."""
    own = {function.name: function for function in scope.unit.functions}
    for node in expressions(scope):
        callee = own.get(read_call(node).last) if node.type == "call_expression" else None
        if callee is None:
            continue
        arguments = read_call(node).arguments
        kinds = [" ".join(p.type.replace("__restrict__", "").split()) for p in callee.parameters]
        for k in range(min(len(arguments), len(kinds)) - 1):
            first, second = arguments[k], arguments[k + 1]
            if kinds[k] == kinds[k + 1] and text(first) != text(second):
                yield _both(scope, first, second, 3.0)


def _axes(scope: Scope) -> Iterator[Variant]:
    """Exchange the axes of a `dim3`, each still divided by its own axis of the block."""
    body = scope.function.body
    for node in descendants(body, "declaration") if body is not None else ():
        if text(node.child_by_field_name("type")) != "dim3":
            continue
        for given in descendants(node, "argument_list"):
            outer = given.parent
            if outer is None or outer.type != "init_declarator":
                continue
            for first, second in pairwise(given.named_children[:2]):
                if text(first) != text(second):
                    x, y = text(second).replace(".y", ".x"), text(first).replace(".x", ".y")
                    yield _pair(scope, (first, x), (second, y), 2.0)


def _grid_and_block(scope: Scope) -> Iterator[Variant]:
    """`<<<blocks, threads>>>` for `<<<threads, blocks>>>`."""
    for launch in scope.unit.launches:
        if launch.host_function is scope.function and launch.grid and launch.block:
            yield _both(scope, launch.grid, launch.block, 2.5)


def _parts_of_an_index(scope: Scope) -> Iterator[Variant]:
    """`n = i / s; p = i % s;` for `n = i % s; p = i / s;`, and the like with two sizes."""
    body = scope.function.body
    for block in descendants(body, "compound_statement") if body is not None else ():
        values = [_value(statement) for statement in block.named_children]
        for first, second in pairwise(values):
            if first is not None and second is not None and _divides(scope, first, second):
                yield from _swapped_parts(scope, first, second)


def _value(statement: Node) -> Node | None:
    """Return the one value that a statement gives a variable."""
    if statement.type == "declaration":
        made = [c for c in statement.named_children if c.type == "init_declarator"]
        return made[0].child_by_field_name("value") if len(made) == 1 else None
    inner = statement.named_children[0] if statement.type == "expression_statement" else None
    if inner is None or inner.type != "assignment_expression" or parts(inner)[1] != "=":
        return None
    return inner.child_by_field_name("right")


def _divides(scope: Scope, *values: Node) -> bool:
    return all(
        value.type == "binary_expression"
        and parts(value)[1] in {"/", "%"}
        and kind_of(scope, value) == "integer"
        for value in values
    )


def _swapped_parts(scope: Scope, first: Node, second: Node) -> Iterator[Variant]:
    one, two = text(first), text(second)
    sizes = parts(first)[2], parts(second)[2]
    yield _pair(scope, (first, two), (second, one), 1.5)
    if sizes[0] != sizes[1]:
        yield _pair(scope, (first, _exchange(two, *sizes)), (second, _exchange(one, *sizes)), 1.8)
        return
    for other in scope.integer_parameters:
        if other != sizes[0]:
            renamed = (re.sub(rf"\b{re.escape(sizes[0])}\b", other, words) for words in (two, one))
            yield _pair(scope, (first, next(renamed)), (second, next(renamed)), 2.5)


def _exchange(words: str, one: str, two: str) -> str:
    """Return a text with two of its words the other way round."""
    found = {one: two, two: one}
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in found)
    return re.sub(pattern, lambda match: found[match.group()], words)
