"""Stores that a kernel lacks: a thread's partial result that never gets to shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope, parts, plain_type, stored_in
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

NEAR = 3
"""How many of the variables that were declared last may be what is to be stored."""


def stores(scope: Scope) -> Iterator[Variant]:
    """Yield `part[tid] = sum;` before each barrier; likelier where nobody stores to the array at all."""
    body = scope.function.body
    if scope.function.runs == "host" or body is None:
        return
    filled = _filled(body)
    thread = _thread(body)
    for barrier in _barriers(body):
        for name, kind in _arrays(scope).items():
            cost = 2.5 if name in filled else 1.0
            for value in scope.names({kind}, barrier.start_byte)[-NEAR:]:
                statement = f"{name}[{thread}] = {value};"
                yield Variant((Piece(scope.unit, barrier, "before", statement),), cost)


def _arrays(scope: Scope) -> dict[str, str]:
    """Return the shared arrays of one dimension and their parts, with the type of their elements."""
    one = [array for array in scope.function.shared if len(array.dims) == 1 or array.dynamic]
    found = {array.name: plain_type(array.element_type) for array in one}
    body = scope.function.body
    for declared in descendants(body, "init_declarator") if body is not None else ():
        name = declared.child_by_field_name("declarator")
        begin = re.match(r"\w+", text(declared.child_by_field_name("value")))
        if name is not None and name.type == "pointer_declarator" and begin:
            if begin.group() in found:
                found[text(name).lstrip("* ")] = found[begin.group()]
    return found


def _filled(body: Node) -> set[str]:
    """Return the arrays that something else than their own elements is stored to."""
    found = set()
    for node in descendants(body, "assignment_expression"):
        _, sign, right = parts(node)
        if sign == "=" and not re.search(rf"\b{re.escape(stored_in(node))}\b\s*\[", right):
            found.add(stored_in(node))
    return found


def _thread(body: Node) -> str:
    """Return what a function calls a thread's own number: `tid`, or `threadIdx.x` itself."""
    for declared in descendants(body, "init_declarator"):
        outer = declared.parent
        known = outer is not None and outer.parent == body
        if known and text(declared.child_by_field_name("value")) == "threadIdx.x":
            return text(declared.child_by_field_name("declarator"))
    return "threadIdx.x"


def _barriers(body: Node) -> Iterator[Node]:
    """Yield the barriers that stand outside of loops."""
    for node in descendants(body, "expression_statement"):
        if node.parent == body and re.match(r"__syncthreads\s*\(", text(node)):
            yield node
