"""A place in a tensor, `row * K + t * TILE + threadIdx.x`, as coordinates with their strides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tree_sitter import Node

from grader.source.definitions import definitions
from grader.source.functions import Function
from grader.source.nodes import descendants, names_in, text

INTEGERS = frozenset(
    {"int", "int64_t", "long", "long long", "size_t", "unsigned int", "unsigned", "uint32_t", "int32_t", "uint64_t"}
)  # fmt: skip
PLAIN = frozenset(
    {"identifier", "field_expression", "number_literal", "call_expression", "subscript_expression"}
)
DEEP = 4
"""Deepest nesting of variables replaced by their definitions."""
Strides = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """One summand of an index: its variable part, and the sizes that it is multiplied by."""

    strides: Strides
    words: str
    """Without the strides; empty for 1."""
    names: bool = False
    """Whether a variable is in the words."""
    sign: str = "+"

    def times(self, other: Term) -> Term:
        """Return the product of two terms."""
        words = " * ".join(filter(None, (self.words, other.words)))
        sign = "+" if self.sign == other.sign else "-"
        strides = tuple(sorted((*self.strides, *other.strides)))
        return Term(strides, words, self.names or other.names, sign)


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of an index, with its stride."""

    words: str
    strides: Strides
    size: str
    """Its upper bound, from the next coordinate's stride; empty for the outermost."""
    literal: bool = False


@dataclass(frozen=True)
class Reader:
    """Reads the indices in one function, whose integer parameters are sizes."""

    function: Function

    @cached_property
    def sizes(self) -> frozenset[str]:
        """The function's own integers."""
        whole = (one for one in self.function.parameters if not one.is_pointer)
        return frozenset(one.name for one in whole if _bare_type(one.type) in INTEGERS)

    @cached_property
    def _made(self) -> Mapping[str, Node]:
        """Values of variables that are set once."""
        every = [one for one in definitions(self.function.node) if one.is_variable]
        updates = descendants(self.function.node, "update_expression")
        set_often = Counter(one.name for one in every)
        set_often.update(text(one.child_by_field_name("argument")) for one in updates)
        return {one.name: one.value for one in every if one.declares and set_often[one.name] == 1}

    def made_of(self, name: str) -> Node | None:
        """Return the value of a variable that is set once."""
        return self._made.get(name)

    def coordinates(self, *indices: Node, leaving: str = "") -> tuple[Coordinate, ...]:
        """Return the coordinates of the sum of some indices, the outermost first; none where strides don't nest.

        `leaving` is the pointer's own name, which may be one of the summands.
        """
        groups: dict[Strides, list[Term]] = {}
        for term in (one for index in indices for one in self._terms(index, DEEP)):
            if term.words != leaving or not leaving or term.strides:
                groups.setdefault(term.strides, []).append(term)
        ordered = sorted(groups, key=len)
        sizes = [Counter(b) - Counter(a) for a, b in pairwise(ordered)]
        if any(Counter(a) - Counter(b) for a, b in pairwise(ordered)):
            return ()
        words = [" * ".join(sorted(size.elements())) for size in sizes]
        made = zip(ordered, [*words, ""], strict=True)
        return tuple(_coordinate(groups[one], one, size) for one, size in made)[::-1]

    def _terms(self, node: Node, deep: int) -> list[Term]:
        node = bare(node)
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        operator = text(node.child_by_field_name("operator"))
        if left is not None and right is not None and operator in {"+", "-"}:
            minus = Term((), "", sign=operator)
            return [*self._terms(left, deep), *(t.times(minus) for t in self._terms(right, deep))]
        if left is not None and right is not None and operator == "*":
            pairs = [(a, b) for a in self._terms(left, deep) for b in self._terms(right, deep)]
            product = [a.times(b) for a, b in pairs]
            return product if any(one.strides for one in product) else [_atom(node)]
        return self._name(node, deep)

    def _name(self, node: Node, deep: int) -> list[Term]:
        if text(node) in self.sizes:
            return [Term((text(node),), "")]
        value = self.made_of(text(node)) if node.type == "identifier" and deep else None
        terms = self._terms(value, deep - 1) if value is not None else []
        return terms if any(one.strides and one.words for one in terms) else [_atom(node)]


def _atom(node: Node) -> Term:
    product = text(node.child_by_field_name("operator")) == "*"
    words = text(node) if node.type in PLAIN or product else f"({text(node)})"
    names = bool(names_in(node))
    return Term((), words, names)


def _coordinate(terms: list[Term], strides: Strides, size: str) -> Coordinate:
    words = "".join(f" {one.sign} {one.words or '1'}" for one in terms).removeprefix(" + ").strip()
    return Coordinate(words, strides, size, not any(one.names for one in terms))


def bare(node: Node) -> Node:
    """Return an expression without parentheses and casts around it."""
    while True:
        inner = node.named_children[-1] if node.named_children else None
        if inner is None or node.type not in {"parenthesized_expression", "cast_expression"}:
            return node
        node = inner


def comparisons(node: Node) -> Iterator[tuple[str, str]]:
    """Yield (a, b) for each `a < b` and `a >= b` under a node: presumably a coordinate and its limit."""
    for one in descendants(node, "binary_expression"):
        if text(one.child_by_field_name("operator")) in {"<", ">="}:
            yield text(one.child_by_field_name("left")), text(one.child_by_field_name("right"))


def _bare_type(words: str) -> str:
    return " ".join(one for one in words.split() if one not in {"const", "__restrict__"})
