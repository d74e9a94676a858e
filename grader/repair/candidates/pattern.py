"""Rewrites of expressions as data: a pattern in the program's own language, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression (`a < b`, `sqrtf(v + e)`), and the same letter twice for
the same text. In what it becomes, `{a}` is what the letter stood for, and a name in capitals stands for each variable of
a kind that is known there: `{a} / {SIZE}`. How a tree is read, and which names are known, is the language's.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

from grader.repair.candidates.candidate import Candidate, Kind, Piece, Touches
from grader.source import Source, Unit

_HOLE = re.compile(r"\{([A-Z]+)\}")


Form = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """How the nodes of a language's syntax trees are read."""

    parse: Callable[[str], Any]
    head: Callable[[Any], Form]
    """What nodes of one form have in common beside their parts; their type comes first."""
    parts: Callable[[Any], Sequence[Any]]
    words: Callable[[Any], str]
    sign: Callable[[Any], str]
    """The operator or function of an expression; empty where it has none, or any."""
    letter: Callable[[Any], str]
    """The letter that a part of a pattern is; empty for any other."""
    may_be: Callable[[str, Any], bool]
    """Whether a letter may stand for a node."""


class Changeable(ABC):
    """A function that may be changed."""

    tree: ClassVar[Tree]
    text: Unit | Source
    """What its nodes are part of."""

    @property
    @abstractmethod
    def on_host(self) -> bool:
        """Whether it is host code."""

    @abstractmethod
    def words_of(self, node: Any) -> str:
        """Return an expression's text as templates take it."""

    def in_place(self, node: Any, words: str) -> str:  # noqa: ARG002
        """Return new words as they may stand in the place of an expression."""
        return words

    def piece(self, node: Any, code: str, kind: Kind = "replace") -> Piece:
        """Return a change at a node."""
        return Piece(self.text, node, code, kind)

    def change(
        self, node: Any, code: str, cost: float, touches: Touches, kind: Kind = "replace", way: str = ""
    ) -> Candidate:  # fmt: skip
        """Return one change at a node."""
        return Candidate((self.piece(node, code, kind),), cost, touches, way)

    def changes(self, cost: float, touches: Touches, *pairs: tuple[Any, str]) -> Candidate:
        """Return several expressions in other words as one change."""
        return Candidate(tuple(self.piece(*pair) for pair in pairs), cost, touches)

    def exchange(self, first: Any, second: Any, cost: float, touches: Touches) -> Candidate:
        """Return two expressions in each other's place."""
        one, other = (self.piece(node, "").old for node in (first, second))
        return self.changes(cost, touches, (first, other), (second, one))


Of = TypeVar("Of", bound="Changeable")


@dataclass(frozen=True)
class Site(Generic[Of]):
    """An expression that a pattern matched, in a function of one language."""

    scope: Of
    node: Any
    bound: Mapping[str, Any] = field(default_factory=dict)
    """What each letter stands for."""

    @property
    def words(self) -> str:
        """The expression's text."""
        return self.scope.tree.words(self.node)

    def text(self, letter: str) -> str:
        """Return what a letter stands for."""
        return self.scope.tree.words(self.bound[letter])


Where = Callable[[Any], bool]
"""Whether a rewrite applies at a site of its language."""
Cost = Callable[[Any, str], float]
Fill = Callable[[Any, str], Iterable[tuple[str, float]]]
"""What a name in capitals stands for at a site, and what each multiplies the cost with."""


@dataclass(frozen=True)
class Rewrite:
    """One way in which an expression may be replaced."""

    pattern: str
    become: tuple[str, ...]
    cost: float | Cost
    """A number, or what it is for a site and the name that was put in."""
    touches: Touches
    where: tuple[Where, ...] = ()
    together: bool = False
    """Whether it goes together with itself elsewhere in a statement, whatever it changes there."""

    def options(self, scope: Changeable, node: Any, fill: Fill) -> Iterator[tuple[str, float, str]]:
        """Yield what a node may become by it, each with its cost and what was done, whatever the node is."""
        bound = match(scope.tree, _pattern_tree(scope.tree, self.pattern), node, {})
        site = Site(scope, node, bound or {})
        if bound is None or not all(holds(site) for holds in self.where):
            return
        letters = {letter: scope.words_of(one) for letter, one in bound.items()}
        for template in self.become:
            asked = list(dict.fromkeys(_HOLE.findall(template)))
            for filled in product(*(fill(site, name) for name in asked)):
                names = [name for name, _ in filled]
                words = template.format(**letters, **dict(zip(asked, names, strict=True)))
                cost = self._cost(site, names) * math.prod(factor for _, factor in filled)
                yield scope.in_place(node, words), cost, " ".join((self.pattern, template, *names))

    def _cost(self, site: Site[Any], names: Sequence[str]) -> float:
        return self.cost if isinstance(self.cost, float) else self.cost(site, *names[:1] or ("",))


def match(tree: Tree, pattern: Any, node: Any, bound: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the pattern's letters stand for in a node; None where it has another form."""
    if letter := tree.letter(pattern):
        known = bound.setdefault(letter, node)
        same = known is node or tree.words(known) == tree.words(node)
        return bound if same and tree.may_be(letter, node) else None
    if tree.head(pattern) != tree.head(node):
        return None
    asked, given = tree.parts(pattern), tree.parts(node)
    if len(asked) != len(given):
        return None
    pairs = zip(asked, given, strict=True)
    return bound if all(match(tree, *pair, bound) is not None for pair in pairs) else None


@cache
def _pattern_tree(tree: Tree, words: str) -> Any:
    return tree.parse(words)


def rewrite_expressions(
    scope: Changeable, nodes: Iterable[Any], table: tuple[Rewrite, ...], fill: Fill
) -> Iterator[Candidate]:
    """Yield what each of a function's expressions may become; `fill` says what names in capitals stand for."""
    rewrites = _by_form(scope.tree, table)
    for node in nodes:
        for rewrite in (one for form in _forms(scope.tree, node) for one in rewrites.get(form, ())):
            for words, cost, done in rewrite.options(scope, node, fill):
                way = done if rewrite.together else f"{scope.tree.words(node)} {words}"
                yield scope.change(node, words, cost, rewrite.touches, way=way)


@cache
def _by_form(tree: Tree, rewrites: tuple[Rewrite, ...]) -> Mapping[Form, tuple[Rewrite, ...]]:
    """Return rewrites by the form of their pattern."""
    found: dict[Form, list[Rewrite]] = {}
    for one in rewrites:
        found.setdefault(_forms(tree, tree.parse(one.pattern))[-1], []).append(one)
    return {form: tuple(ones) for form, ones in found.items()}


def _forms(tree: Tree, node: Any) -> tuple[Form, ...]:
    """Return the forms of patterns that may match a node: any, those of its type, those with its operator or function."""
    if tree.letter(node):
        return ((),)
    kind, sign = tree.head(node)[0], tree.sign(node)
    return ((), (kind,), *(((kind, sign),) if sign else ()))
