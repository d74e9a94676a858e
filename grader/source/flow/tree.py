"""A function body as a small tree: the part of CUDA C++ that the rules reason about.

Every node keeps the tree-sitter node it came from, so that what is found can be placed. Lists are
tuples and nodes are frozen: one lowering serves all the rules. Two nodes are equal when they are one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import Any

from grader.source.declarators import Parameter

Node = Any
"""A tree-sitter node (the library has no usable static types for its Python objects)."""


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An expression."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Number(Expr):
    """A literal; `type` is one of the letters of `values.Value`."""

    value: int | float
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Text(Expr):
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True, eq=False)
class Name(Expr):
    """An identifier, with its namespaces if it has any."""

    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expr):
    """`-a`, `!a`, `~a`, `*a`, `&a`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """`a op b`, without assignment."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Expr):
    """`target op value`; `op` is `=` or `+=` and so on."""

    op: str
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Update(Expr):
    """`++a` or `a--`."""

    op: str
    target: Expr
    prefix: bool


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """`test ? yes : no`."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Subscript(Expr):
    """`base[index]`."""

    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Member(Expr):
    """`base.name` or `base->name`."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A call. `name` is the last part of a plain name; a method has its object in `base`."""

    name: str
    qualified: str
    base: Expr | None
    template: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchCall(Expr):
    """`kernel<template><<<grid, block, shared, stream>>>(args)`."""

    kernel: str
    template: tuple[str, ...]
    config: tuple[Expr, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """A conversion; `pointer` when the target is a pointer type."""

    type: str
    pointer: bool
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class SizeOf(Expr):
    """`sizeof(type)` or `sizeof(expression)`."""

    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Lambda(Expr):
    """A lambda expression."""

    parameters: tuple[Parameter, ...]
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Items(Expr):
    """An initializer list `{a, b}`, or a comma expression when `comma` holds."""

    items: tuple[Expr, ...]
    comma: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unclear(Expr):
    """An expression that the lowering doesn't know, with the known parts in it."""

    parts: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Stmt:
    """A statement."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Declare(Stmt):
    """One declared name."""

    name: str
    type: str
    dims: tuple[Expr | None, ...] = ()
    init: Expr | None = None
    shared: bool = False
    extern: bool = False
    static: bool = False
    pointer: bool = False
    reference: bool = False
    const: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Stmt):
    """An expression statement."""

    expr: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Block(Stmt):
    """Statements in order."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    """A branch."""

    test: Expr
    then: Stmt
    orelse: Stmt | None


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Stmt):
    """`for`, `while` or `do` (whose test comes last)."""

    kind: str
    init: Stmt | None
    test: Expr | None
    step: Expr | None
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Return(Stmt):
    """`return`, with or without a value."""

    value: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Jump(Stmt):
    """`break` or `continue`."""

    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Stmt):
    """A statement that is not understood (inline assembly, goto, a broken parse)."""

    reason: str


_PARTS = (Expr, Stmt)


@cache
def _slots(kind: Any) -> tuple[str, ...]:
    """Return the fields of a class that may hold parts."""
    plain = {
        "node",
        "name",
        "type",
        "op",
        "id",
        "qualified",
        "template",
        "value_type",
        "kind",
        "reason",
    }
    return tuple(slot.name for slot in fields(kind) if slot.name not in plain)


def children(item: Expr | Stmt) -> list[Expr | Stmt]:
    """Return the direct parts of a node, in source order."""
    found: list[Expr | Stmt] = []
    kind: Any = type(item)
    for name in _slots(kind):
        value = getattr(item, name)
        if isinstance(value, _PARTS):
            found.append(value)
        elif isinstance(value, tuple):
            found += [part for part in value if isinstance(part, _PARTS)]
    return found


@lru_cache(maxsize=1024)
def walk(item: Expr | Stmt | None) -> tuple[Expr | Stmt, ...]:
    """Return a node and all below it, parents first, in source order; kept, for every rule asks."""
    found: list[Expr | Stmt] = []
    stack: list[Expr | Stmt] = [] if item is None else [item]
    while stack:
        current = stack.pop()
        found.append(current)
        stack += reversed(children(current))
    return tuple(found)
