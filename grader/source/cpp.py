"""CUDA C++ as a small typed tree, the counterpart of Python's `ast`: the meaning of a text, for rules and analyses.

It is a view of the concrete tree: each kind says which nodes of the grammar it stands for and which of their fields
it reads (`cpp_reading` does it). Every part keeps its node, so that findings can be placed and edited. Parts are
frozen: one reading serves all rules. Two parts are equal when they are one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from typing import Any, TypeVar, dataclass_transform

from grader.source.declarators import Parameter, clean_type
from grader.source.nodes import given_nodes

Node = Any
"""A tree-sitter node (the library has no usable static types for its Python objects)."""
Kind = TypeVar("Kind", bound="type[Part]")
KINDS: dict[str, type[Part]] = {}
"""The kind for each node of the grammar whose fields determine it completely."""


def word(name: str) -> Any:
    """Return a field that holds the text of a field of the grammar."""
    return field(metadata={"word": name})


def part(name: str) -> Any:
    """Return a field that holds the expression or the statement in a field of the grammar."""
    return field(metadata={"part": name})


def parts() -> Any:
    """Return a field that holds the expressions in a list."""
    return field(metadata={"parts": ""})


def first() -> Any:
    """Return a field that holds the first part in a node, or None."""
    return field(metadata={"first": ""})


@dataclass_transform(
    eq_default=False,
    frozen_default=True,
    field_specifiers=(word, part, parts, first),
)
def reads(*kinds: str) -> Callable[[Kind], Kind]:
    """Define a kind of part for these kinds of nodes."""

    def make(cls: Kind) -> Kind:
        made: Any = dataclass(frozen=True, slots=True, eq=False)(cls)
        KINDS.update(dict.fromkeys(kinds, made))
        return made  # type: ignore[no-any-return]

    return make


@reads()
class Part:
    """An expression or a statement."""

    node: Node


@reads()
class Expr(Part):
    """An expression."""


@reads()
class Number(Expr):
    """A literal; `type` is one of the letters of `values.Value`."""

    value: int | float
    type: str


@reads()
class Text(Expr):
    """A string literal."""

    value: str


@reads()
class Name(Expr):
    """An identifier, with its namespaces if it has any."""

    id: str


@reads("unary_expression", "pointer_expression")
class Unary(Expr):
    """`-a`, `!a`, `~a`, `*a`, `&a`."""

    op: str = word("operator")
    operand: Expr = part("argument")


@reads("binary_expression")
class Binary(Expr):
    """`a op b`, without assignment."""

    op: str = word("operator")
    left: Expr = part("left")
    right: Expr = part("right")


@reads("assignment_expression")
class Assign(Expr):
    """`target op value`; `op` is `=` or `+=` and so on."""

    op: str = word("operator")
    target: Expr = part("left")
    value: Expr = part("right")


@reads("update_expression")
class Update(Expr):
    """`++a` or `a--`."""

    op: str = word("operator")
    target: Expr = part("argument")


@reads("conditional_expression")
class Select(Expr):
    """`test ? yes : no`."""

    test: Expr = part("condition")
    yes: Expr = part("consequence")
    no: Expr = part("alternative")


@reads("subscript_expression")
class Subscript(Expr):
    """`base[index]`."""

    base: Expr = part("argument")
    index: Expr = part("indices")


@reads("field_expression")
class Member(Expr):
    """`base.name` or `base->name`."""

    base: Expr = part("argument")
    name: str = word("field")


@reads()
class Call(Expr):
    """A call. `name` is the last part of a plain name, which `qualified` has with its namespaces; a method has its object in `base`."""

    name: str
    qualified: str
    base: Expr | None
    template: tuple[str, ...]
    args: tuple[Expr, ...]

    @property
    def arguments(self) -> tuple[Node, ...]:
        """Its arguments' node in the grammar's tree, with the parentheses."""
        return given_nodes(self.node.child_by_field_name("arguments"))


@reads()
class Launch(Expr):
    """`kernel<template><<<grid, block, shared, stream>>>(args)`; the kernel's name is without namespace."""

    kernel: str
    template_arguments: tuple[Node, ...]
    configuration: tuple[Node, ...]
    config: tuple[Expr, ...]
    args: tuple[Expr, ...]

    @property
    def arguments(self) -> tuple[Node, ...]:
        """What the kernel is given, in the grammar's tree, with the parentheses around it."""
        return given_nodes(self.node.child_by_field_name("arguments"))

    @property
    def grid(self) -> Node | None:
        """The first expression of the configuration."""
        return self.configuration[0] if self.configuration else None

    @property
    def block(self) -> Node | None:
        """The second one."""
        return self.configuration[1] if len(self.configuration) > 1 else None

    @property
    def shared(self) -> Node | None:
        """The bytes of dynamic shared memory, where they are given."""
        return self.configuration[2] if len(self.configuration) > 2 else None

    @property
    def stream(self) -> Node | None:
        """The stream, where one is given."""
        return self.configuration[3] if len(self.configuration) > 3 else None


@reads()
class Cast(Expr):
    """A conversion to a type, as it is written."""

    written: str
    operand: Expr

    @property
    def type(self) -> str:
        """The type without qualifiers and stars."""
        return clean_type(self.written)

    @property
    def pointer(self) -> bool:
        """Whether the target is a pointer."""
        return "*" in self.written


@reads()
class SizeOf(Expr):
    """`sizeof(type)` or `sizeof(expression)`."""

    type: str


@reads()
class Lambda(Expr):
    """A lambda expression."""

    parameters: tuple[Parameter, ...]
    body: Stmt


@reads("initializer_list", "argument_list", "comma_expression")
class Items(Expr):
    """An initializer list `{a, b}`, or a comma expression."""

    items: tuple[Expr, ...] = parts()

    @property
    def comma(self) -> bool:
        """Whether it is `a, b`, which is `b`."""
        return bool(self.node.type == "comma_expression")


@reads()
class Unclear(Expr):
    """An unknown expression, with its known parts."""

    parts: tuple[Expr, ...] = ()


@reads()
class Stmt(Part):
    """A statement."""


@reads()
class Declare(Stmt):
    """One declared name."""

    name: str
    type: str
    dims: tuple[Expr | None, ...] = ()
    init: Expr | None = None
    shared: bool = False
    extern: bool = False
    stars: int = 0
    reference: bool = False
    const: bool = False

    @property
    def pointer(self) -> bool:
        """Whether it is a pointer."""
        return self.stars > 0

    @property
    def plain(self) -> bool:
        """Whether it is neither a pointer nor an array nor a reference."""
        return not (self.stars or self.dims or self.reference)

    @property
    def value(self) -> Node | None:
        """Its initialiser, in the grammar's tree."""
        return self.init.node if self.init is not None else None

    @property
    def sizes(self) -> tuple[Node, ...]:
        """The extents of an array, in the grammar's tree, without omitted ones."""
        return tuple(one.node for one in self.dims if one is not None)


@reads()
class Evaluate(Stmt):
    """An expression statement."""

    expr: Expr


@reads()
class Block(Stmt):
    """Statements in order."""

    body: tuple[Stmt, ...]


@reads("if_statement")
class If(Stmt):
    """A branch."""

    test: Expr = part("condition")
    then: Stmt = part("consequence")
    orelse: Stmt | None = part("alternative")


@reads("for_statement", "while_statement", "do_statement")
class Loop(Stmt):
    """`for`, `while` or `do`."""

    init: Stmt | None = part("initializer")
    test: Expr | None = part("condition")
    step: Expr | None = part("update")
    body: Stmt = part("body")


@reads("return_statement")
class Return(Stmt):
    """`return`, with or without a value."""

    value: Expr | None = first()


@reads()
class Opaque(Stmt):
    """An unknown statement (inline assembly, `switch`, a broken parse), with the known ones in it."""

    reason: str
    parts: tuple[Stmt, ...] = ()


@cache
def _slots(kind: Any) -> tuple[str, ...]:
    """Return the fields of a kind that may hold parts."""
    return tuple(slot.name for slot in fields(kind) if slot.type not in {"str", "Node", "bool"})


def children(item: Part) -> list[Part]:
    """Return the direct parts of a part, in source order."""
    found: list[Part] = []
    kind: Any = type(item)
    for name in _slots(kind):
        value = getattr(item, name)
        if isinstance(value, Part):
            found.append(value)
        elif isinstance(value, tuple):
            found += [part for part in value if isinstance(part, Part)]
    return found


@lru_cache(maxsize=256)
def walk(item: Part | None) -> tuple[Part, ...]:
    """Return a part and all below it, parents first, in source order; cached, since every rule uses it."""
    found: list[Part] = []
    stack: list[Part] = [] if item is None else [item]
    while stack:
        current = stack.pop()
        found.append(current)
        stack += reversed(children(current))
    return tuple(found)
