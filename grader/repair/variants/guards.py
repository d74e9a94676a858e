"""Bounds that a kernel forgets to ask for: around a store, around reads, before everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from grader.repair.variants.sites import INTEGERS, Scope, is_target
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

SIGNED = {"int", "long", "long long", "int64_t", "int32_t"}
"""Types of an index that may be less than 0."""
_GLOBAL = re.compile(r"blockIdx\.[xyz]")
NEAR = 3
"""How many of the kernel's own integers may be a bound."""


def guarded(scope: Scope, node: Node) -> Iterator[Variant]:
    """Yield a statement of a kernel under the conditions that may be missing before it."""
    if node.type == "expression_statement":
        for words, cost in (*_of_store(scope, node), *_of_reads(scope, node)):
            yield Variant((Piece(scope.unit, node, "guard", words),), cost)
    elif node.type == "compound_statement":
        for index in _own_numbers(scope, node):
            for bound in _bounds(scope, node, index):
                yield Variant((Piece(scope.unit, node, "guard", f"{index} < {bound}"),), 1.5)
    yield from _left_early(scope, node)


def _of_store(scope: Scope, node: Node) -> Iterator[tuple[str, float]]:
    """Ask that the index of a store is less than a size, or that a thread's place in two directions is."""
    inner = node.named_children[0] if node.named_children else None
    left = inner.child_by_field_name("left") if inner is not None else None
    if left is None or left.type != "subscript_expression":
        return
    index = text(left.child_by_field_name("indices"))[1:-1]
    for bound in _bounds(scope, node, index):
        yield f"{index} < {bound}", 2.5
    named = {text(one) for one in descendants(left, "identifier")}
    own = [name for name in _own_numbers(scope, node) if name in named]
    for bounds in permutations(scope.integer_parameters, 2) if len(own) == 2 else ():
        yield " && ".join(f"{i} < {n}" for i, n in zip(own, bounds, strict=True)), 2.0


def _of_reads(scope: Scope, node: Node) -> Iterator[tuple[str, float]]:
    """Ask that the variables that reads are indexed by are neither negative nor too large."""
    for name in _read_at(scope, node):
        for bound in scope.integer_parameters:
            yield f"{name} >= 0 && {name} < {bound}", 2.5


def _read_at(scope: Scope, node: Node) -> list[str]:
    given = {p.name for p in scope.function.parameters}
    arrays = {name for name, _ in scope.pointers}
    found: dict[str, None] = {}
    for read in descendants(node, "subscript_expression"):
        if text(read.child_by_field_name("argument")) not in arrays or is_target(read):
            continue
        for inner in descendants(read, "identifier"):
            name = text(inner)
            if name not in given | arrays and scope.type_of(name) in SIGNED:
                found[name] = None
    return list(found)


def _left_early(scope: Scope, node: Node) -> Iterator[Variant]:
    """Yield a return of the threads that are too many, before the kernel's first real statement."""
    body = scope.function.body
    if scope.function.runs != "kernel" or body is None or node.parent != body:
        return
    before = [one for one in body.named_children if one.end_byte <= node.start_byte]
    if any(one.type not in {"declaration", "comment"} for one in before):
        return
    if "__syncthreads" in text(body) or "__shfl" in text(body):
        return
    for index in _own_numbers(scope, node):
        for bound in _bounds(scope, node, index):
            yield Variant(
                (Piece(scope.unit, node, "before", f"if ({index} >= {bound}) return;"),), 1.5
            )


def _own_numbers(scope: Scope, node: Node) -> list[str]:
    """Return the variables that hold a thread's number in the whole grid and are known there."""
    body = scope.function.body
    known = set(scope.names(INTEGERS, node.start_byte))
    found: dict[str, None] = {}
    for declared in descendants(body, "init_declarator") if body is not None else ():
        name = text(declared.child_by_field_name("declarator"))
        value = text(declared.child_by_field_name("value"))
        if name in known and _GLOBAL.search(value) and "threadIdx" in value:
            found[name] = None
    return list(found)


def _bounds(scope: Scope, node: Node, index: str) -> list[str]:
    """Return the sizes that an index may be compared with: parameters, and what is made of them."""
    body = scope.function.body
    given = {p.name for p in scope.function.parameters}
    parts_of_it = {
        text(declared.child_by_field_name("declarator"))
        for declared in (descendants(body, "init_declarator") if body is not None else ())
        if _mentions(text(declared.child_by_field_name("value")), index)
    }
    known = scope.names(INTEGERS, node.start_byte)
    own = [name for name in known if name not in given | parts_of_it]
    named = (*scope.integer_parameters, *own[-NEAR:])
    return [name for name in dict.fromkeys(named) if not _mentions(index, name)]


def _mentions(words: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None
