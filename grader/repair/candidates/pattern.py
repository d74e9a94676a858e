"""Rewrites of expressions as data: a pattern in C++, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression (`a < b`, `sqrtf(v + e)`), and the same letter twice for
the same text. In what it becomes, `{a}` is what the letter stood for and `{a:f}` the same as a factor, in parentheses
where it needs them. A name of `HOLES` stands for each variable of a kind that is known there: `{a} / {SIZE}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tree_sitter import Node, Parser

from grader.repair.candidates.candidate import Touches
from grader.repair.candidates.scope import Kind, Scope
from grader.source import cuda_language
from grader.source.cuda_code import text

ATOMS = frozenset(
    {
        "identifier",
        "number_literal",
        "subscript_expression",
        "field_expression",
        "call_expression",
        "parenthesized_expression",
    }
)
"""Expressions that need no parentheses as a part of a product."""
_LOOSER = re.compile(r"[?<>=&|]")
"""Operators that bind less than a sum."""
_HOLE = re.compile(r"\{([A-Z]+)\}")


def factor(node: Node) -> str:
    """Return an expression's text as a part of a product."""
    return text(node) if node.type in ATOMS else f"({text(node)})"


class Words(str):
    """An expression's text, which a template puts in parentheses where it needs them."""

    __slots__ = ("node",)
    node: Node

    def __format__(self, spec: str) -> str:
        """Return the text, as a factor (`f`) or a term of a sum (`t`) if that is asked for."""
        loose = spec == "f" or (spec == "t" and _LOOSER.search(self))
        return factor(self.node) if loose else str(self)


def words_of(node: Node) -> Words:
    """Return an expression's text for a template."""
    words = Words(text(node))
    words.node = node
    return words


@dataclass(frozen=True)
class Site:
    """An expression that a pattern matched."""

    scope: Scope
    node: Node
    bound: Mapping[str, Node] = field(default_factory=dict)
    """What each letter stands for."""

    @property
    def words(self) -> str:
        """The expression's text."""
        return text(self.node)

    def text(self, letter: str) -> str:
        """Return what a letter stands for."""
        return text(self.bound[letter])

    def kind(self, letter: str) -> Kind:
        """Return what kind of number a letter stands for."""
        return self.scope.kind_of(self.bound[letter])


Names = Callable[[Site], Sequence[str]]
Where = Callable[[Site], bool]
Cost = Callable[[Site, str], float]


@dataclass(frozen=True)
class Rewrite:
    """One way in which an expression may be replaced."""

    pattern: str
    into: str
    cost: float | Cost
    """A number, or what it is for a site and the name that was put in."""
    touches: Touches
    where: tuple[Where, ...] = ()

    def options(self, scope: Scope, node: Node) -> Iterator[tuple[str, float]]:
        """Yield what a node may become by it, each with its cost."""
        bound = match(pattern_tree(self.pattern), node, {})
        site = Site(scope, node, bound or {})
        if bound is None or not all(holds(site) for holds in self.where):
            return
        holes = dict.fromkeys(_HOLE.findall(self.into))
        for names in product(*(HOLES[hole](site) for hole in holes)):
            letters = {letter: words_of(one) for letter, one in bound.items()}
            words = self.into.format(**letters, **dict(zip(holes, names, strict=True)))
            chosen = names[0] if names else ""
            cost = self.cost if isinstance(self.cost, float) else self.cost(site, chosen)
            yield words, cost


HOLES: dict[str, Names] = {}
"""What a capital name in a rewrite stands for; filled where such names are explained."""


def match(pattern: Node, node: Node, bound: dict[str, Node]) -> dict[str, Node] | None:
    """Return what the pattern's letters stand for in a node; None where it has another form."""
    letter = text(pattern)
    if pattern.type == "identifier" and len(letter) == 1 and letter.islower():
        known = bound.setdefault(letter, node)
        return bound if text(known) == text(node) else None
    if pattern.type != node.type:
        return None
    if not pattern.child_count:
        return bound if pattern.text == node.text else None
    inside = [child for child in node.children if child.type != "comment"]
    if len(inside) != pattern.child_count:
        return None
    pairs = zip(pattern.children, inside, strict=True)
    return bound if all(match(*pair, bound) is not None for pair in pairs) else None


@cache
def pattern_tree(words: str) -> Node:
    """Return the tree of a pattern."""
    tree = Parser(cuda_language()).parse(f"int v = {words};".encode())
    value = tree.root_node.named_children[0].child_by_field_name("declarator")
    found = value.child_by_field_name("value") if value is not None else None
    if found is None or found.has_error:
        msg = f"no C++ expression: {words}"
        raise ValueError(msg)
    return found


@cache
def by_form(rewrites: tuple[Rewrite, ...]) -> Mapping[str, tuple[Rewrite, ...]]:
    """Return rewrites by the form of their pattern."""
    found: dict[str, list[Rewrite]] = {}
    for one in rewrites:
        found.setdefault(forms(pattern_tree(one.pattern))[-1], []).append(one)
    return {form: tuple(ones) for form, ones in found.items()}


def forms(node: Node) -> tuple[str, ...]:
    """Return the forms of patterns that may match a node: any, those of its type, those with its operator or function."""
    sign = node.child_by_field_name("operator") or node.child_by_field_name("function")
    words = text(sign)
    if sign is not None and (sign.child_count or (len(words) == 1 and words.islower())):
        words = ""
    own = (f"{node.type} {words}",) if words else ()
    hole = node.type == "identifier" and len(text(node)) == 1 and text(node).islower()
    return ("",) if hole else ("", node.type, *own)
