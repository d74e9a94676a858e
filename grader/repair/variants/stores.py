"""Stores that a kernel lacks: a thread's partial result that never gets to shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope, plain_type, stored_in
from grader.repair.variants.variant import Piece, Variant
from grader.rules.cuda_code import descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

NEAR = 3
"""How many of the variables that were declared last may be what is to be stored."""


def stores(scope: Scope) -> Iterator[Variant]:
    """Yield `part[tid] = sum;` before each barrier; likelier where nobody stores to the array at all."""
    body = scope.function.body
    if scope.function.runs == "host" or body is None:
        return
    filled = {stored_in(node) for node in descendants(body, "assignment_expression")}
    thread = _thread(body)
    for barrier in _barriers(body):
        for array in scope.function.shared:
            if len(array.dims) > 1 or not (array.dims or array.dynamic):
                continue
            cost = 2.5 if array.name in filled else 1.0
            for value in scope.names({plain_type(array.element_type)}, barrier.start_byte)[-NEAR:]:
                statement = f"{array.name}[{thread}] = {value};"
                yield Variant((Piece(scope.unit, barrier, "before", statement),), cost)


def _thread(body: Node) -> str:
    """Return what a function calls a thread's own number: `tid`, or `threadIdx.x` itself."""
    for declared in descendants(body, "init_declarator"):
        if text(declared.child_by_field_name("value")) == "threadIdx.x":
            return text(declared.child_by_field_name("declarator"))
    return "threadIdx.x"


def _barriers(body: Node) -> Iterator[Node]:
    """Yield the barriers that stand outside of loops."""
    for node in descendants(body, "expression_statement"):
        if node.parent == body and re.match(r"__syncthreads\s*\(", text(node)):
            yield node
