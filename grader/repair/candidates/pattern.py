"""Rewrites of expressions: a pattern in the program's own language, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression (`a < b`, `sqrtf(v + e)`), and the same letter twice for
the same text. In what it becomes, `{a}` is what the letter stood for, `{a_}` the same where no brackets are needed, and a
name in capitals stands for each variable of a kind that is known there: `{a} / {SIZE}`. How a tree is read, and which names
are known, is the language's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from grader.repair.candidates.candidate import Candidate, Kind, Touches

if TYPE_CHECKING:
    from grader.repair.candidates.changeable import Changeable

FORGOTTEN = 0.5
"""What the cost of a change is multiplied with that uses a name which nothing uses."""
ELSEWHERE = {True: {"device", "kernel"}, False: {"host"}}
"""What rows ask for that never hold in host code, and outside of it."""
_HOLE = re.compile(r"\{([A-Z]+)\}")
_NAMES = re.compile(r"(?!\d)(?P<one>\w*?)(?P<end>\w*) (?P<other>(?!\d)\w*?)(?P=end)")
_ELEMENT = re.compile(r"(\w+)\[([^\[\]]*)\]")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[xyzw]\b)?")


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
    name: Callable[[Any], str]
    """The plain name that an expression is; empty for any other."""
    may_be: Callable[[str, Any], bool]
    """Whether a letter may stand for a node."""

    def letter(self, pattern: Any) -> str:
        """Return the letter that a part of a pattern is; empty for any other."""
        name = self.name(pattern)
        return name if len(name) == 1 and name.islower() else ""


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

    def holds(self, asked: str) -> bool:
        """Whether the expression is what a word asks for, or a letter's (`b:real`); `!` asks for the opposite."""
        letter, _, word = asked.removeprefix("!").rpartition(":")
        node = self.bound[letter] if letter else self.node
        return self.scope.holds(word, node) != asked.startswith("!")


Hole = Callable[[Any], Sequence[str] | Mapping[str, float]]
"""What a name in capitals stands for at a site of its language, with what each multiplies the cost with."""


@dataclass(frozen=True)
class Rewrite:
    """One way in which an expression may be replaced, or what may stand beside a statement."""

    pattern: str
    become: tuple[str, ...]
    cost: float
    touches: Touches
    where: tuple[str, ...] = ()
    """What the expression, or a letter, has to be."""
    together: bool = False
    """Whether it goes together with itself elsewhere in a statement, whatever it changes there."""
    kind: Kind = "replace"

    def options(self, scope: Changeable, node: Any) -> Iterator[Candidate]:
        """Yield the changes that it makes of a node."""
        bound = match(scope.tree, _pattern_tree(scope.tree, self.pattern), node, {})
        site = Site(scope, node, bound or {})
        if bound is None or not all(map(site.holds, self.where)):
            return
        letters = {letter: scope.words_of(one) for letter, one in bound.items()}
        letters |= {f"{letter}_": scope.old(one) for letter, one in bound.items()}
        for template in self.become:
            asked = list(dict.fromkeys(_HOLE.findall(template)))
            for filled in product(*(scope.fill(site, name) for name in asked)):
                names = [name for name, _ in filled]
                words = template.format(**letters, **dict(zip(asked, names, strict=True)))
                cost = self.cost * math.prod(factor for _, factor in filled)
                cost *= FORGOTTEN if scope.idle.intersection(_WORD.findall(words)) else 1.0
                done = " ".join((self.pattern, template, *names))
                ways = (done,) if self.together else _ways(site.words, words)
                new = scope.in_place(node, words)
                yield scope.change(node, new, cost, self.touches, self.kind, ways)


def _ways(old: str, new: str) -> tuple[str, ...]:
    """Return what a change has in common with others: its words, what two names begin with that end alike, an index, an array, an axis that is lacking."""
    if names := _NAMES.fullmatch(f"{old} {new}"):
        return (f"{names['one']} {names['other']}",)
    if new.startswith(f"{old}["):
        return ("[]",)
    one, other = _ELEMENT.fullmatch(old), _ELEMENT.fullmatch(new)
    of_elements = (f"[{one[2]} {other[2]}]", f"{one[1]} {new}") if one and other else ()
    return (f"{old} {new}", *of_elements)


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


def rewrite_expressions(scope: Changeable) -> Iterator[Candidate]:
    """Yield what each of a function's expressions may become, by its language's table."""
    rewrites = _by_form(scope.tree, scope.table, frozenset(ELSEWHERE[scope.on_host]))
    for node in scope.expressions:
        for form in _forms(scope.tree, node):
            for rewrite in rewrites.get(form, ()):
                yield from rewrite.options(scope, node)


@cache
def _by_form(
    tree: Tree, rewrites: tuple[Rewrite, ...], elsewhere: frozenset[str]
) -> Mapping[Form, tuple[Rewrite, ...]]:
    """Return rewrites by the form of their pattern, without those that only other functions may need."""
    found: dict[Form, list[Rewrite]] = {}
    for one in (one for one in rewrites if not elsewhere.intersection(one.where)):
        found.setdefault(_forms(tree, tree.parse(one.pattern))[-1], []).append(one)
    return {form: tuple(ones) for form, ones in found.items()}


def _forms(tree: Tree, node: Any) -> tuple[Form, ...]:
    """Return the forms of patterns that may match a node: any, those of its type, those with its operator or function."""
    if tree.letter(node):
        return ((),)
    kind, sign = tree.head(node)[0], tree.sign(node)
    return ((), (kind,), *(((kind, sign),) if sign else ()))
