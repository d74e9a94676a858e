"""Statements that may be missing or in want of a condition: guards, barriers, stores, a dimension brought to its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.repair.candidates.candidate import NEVER, Candidate, Piece
from grader.repair.candidates.cuda.scope import (
    Scope,
    is_target,
    kind_of_type,
    mentions,
    parts,
    stored_in,
)
from grader.source.cuda_code import descendants, read_call, text
from grader.source.statements import statement

NEAR = 3
"""How many of the variables that were declared last may be a bound, or what is to be stored."""
BARRIER = "__syncthreads();"
MOVES = re.compile(r"\b(?:movedim|transpose|permute|swapaxes)\s*\(")
DEEP = re.compile(r"\bsize\(\s*[234]\s*\)")
"""A tensor of several dimensions: rows are rarely what it is made of."""


def statements(scope: Scope) -> Iterator[Candidate]:
    """Yield guards, barriers and stores of device code; tensors brought into another order before launches."""
    if scope.on_host:
        yield from move_dims(scope)
        return
    yield from _stores(scope)
    shared = "__shared__" in text(scope.body)
    for node in scope.expressions():
        inside = node.parent is not None and node.parent.type == "compound_statement"
        if not inside or not node.type.endswith("statement"):
            continue
        if shared and not text(node).startswith("__syncthreads"):
            yield scope.change(node, BARRIER, 2.0, "sync", "before")
        yield from _guard_reads(scope, node)
        yield from _term_behind_function(scope, node)


def _term_behind_function(scope: Scope, node: Node) -> Iterator[Candidate]:
    """Yield `f(v) + t` for `v += t;` before it: a term that was to be added to the function's value."""
    inner = node.named_children[0] if node.type == "expression_statement" else None
    if inner is None or inner.type != "assignment_expression" or parts(inner)[1] != "+=":
        return
    assert node.parent is not None
    name, _, term = parts(inner)
    calls = [c for c in descendants(node.parent, "call_expression") if c.start_byte > node.end_byte]
    for call in calls:
        if [text(argument) for argument in read_call(call).arguments] == [name]:
            pieces = (
                scope.piece(call, f"({text(call)} + {term})"),
                scope.piece(node, NEVER, "guard"),
            )
            yield Candidate(pieces, 0.7, "degree")


# ---------------------------------------------------------------- guards


def _guard_reads(scope: Scope, node: Node) -> Iterator[Candidate]:
    """Yield a statement only where the variables that its reads are indexed by are neither negative nor too large.

    An access that leaves its tensor is a finding, and has a fix of its own: this is for those that read another row.
    """
    for name in _read_at(scope, node) if node.type == "expression_statement" else ():
        for bound in scope.sizes:
            yield scope.change(node, f"{name} >= 0 && {name} < {bound}", 2.5, "guard", "guard")


def _read_at(scope: Scope, node: Node) -> list[str]:
    given = {p.name for p in scope.function.parameters}
    signed = {one.name for one in scope.variables if one.signed} - given
    found: dict[str, None] = {}
    for read in descendants(node, "subscript_expression"):
        if text(read.child_by_field_name("argument")) in scope.pointers and not is_target(read):
            names = (text(inner) for inner in descendants(read, "identifier"))
            found |= dict.fromkeys(name for name in names if name in signed)
    return list(found)


# ---------------------------------------------------------------- stores


def _stores(scope: Scope) -> Iterator[Candidate]:
    """Yield `part[tid] = sum;` before each barrier; likelier where nobody stores to the array at all."""
    assigned = descendants(scope.body, "assignment_expression")
    filled = {
        stored_in(node)
        for node in assigned
        if not mentions(text(node.child_by_field_name("right")), stored_in(node))
    }
    for barrier in scope.body.named_children:
        if text(barrier).startswith("__syncthreads"):
            for name, written in _arrays(scope).items():
                for value in scope.known(kind_of_type(written), barrier.start_byte)[-NEAR:]:
                    words = f"{name}[{scope.thread}] = {value};"
                    cost = 2.5 if name in filled else 1.0
                    yield scope.change(barrier, words, cost, "store", "before")


def _arrays(scope: Scope) -> dict[str, str]:
    """Return the shared arrays of one dimension and their parts, with the type of their elements."""
    one = (array for array in scope.function.shared if len(array.sizes) == 1 or array.extern)
    found = {array.name: array.type for array in one}
    for name, value in scope.made:
        begin = re.match(r"\w+", text(value))
        if name.startswith("*") and begin and begin[0] in found:
            found[name.lstrip("* ")] = found[begin[0]]
    return found


# ---------------------------------------------------------------- host code: tensors in another order


def move_dims(scope: Scope) -> Iterator[Candidate]:
    """Yield `x = x.movedim(dim, -1).contiguous();` before a launch, for each tensor whose data it takes.

    Kernels often take rows for granted. Where the function is told no dim, the first two are tried.
    """
    words = text(scope.body)
    if MOVES.search(words):
        return
    dims = [name for name in scope.sizes if name in {"dim", "axis"}] or ["1", "0"]
    cost = 1.8 if DEEP.search(words) else 2.6
    for launch in scope.text.launches:
        given = " ".join(text(argument) for argument in launch.arguments)
        if launch.host_function is not scope.function:
            continue
        for name in scope.tensors:
            if re.search(rf"\b{re.escape(name)}\s*\.(?:mutable_|const_)?data_ptr", given):
                for dim in dims:
                    new = f"{name} = {name}.movedim({dim}, -1).contiguous();"
                    piece = scope.piece(statement(launch.node), new, "before")
                    yield Candidate((piece,), cost, "host")
                    if back := _moved_back(scope, name, dim):
                        yield Candidate((piece, *back), cost, "host")


def _moved_back(scope: Scope, name: str, dim: str) -> tuple[Piece, ...]:
    """Return the pieces that bring the dimension back in a result that is made like the tensor.

    The kernel fills it in the order of the moved tensor, whose shape `name` has by then.
    """
    like = re.compile(rf"_like\(\s*{re.escape(name)}\b")
    made = {other for other, value in scope.made if like.search(text(value))}
    ends = (node.named_children for node in descendants(scope.body, "return_statement"))
    back = f".view({name}.sizes()).movedim(-1, {dim})"
    return tuple(
        scope.piece(values[0], text(values[0]) + back)
        for values in ends
        if values and text(values[0]) in made
    )
