"""Rewrites of expressions: a pattern in the program's own language, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression (`a < b`, `sqrtf(v + e)`), and the same letter twice for
the same text. In what it becomes, `{a}` is what the letter stood for, `{a_}` the same where no brackets are needed, and a
name in capitals stands for each variable of a kind that is known there: `{a} / {SIZE}`. How a tree is read, and which names
are known, is the language's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from grader.repair.candidates.candidate import Kind, Touches

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
def pattern_tree(tree: Tree, words: str) -> Any:
    """Return the tree of a pattern."""
    return tree.parse(words)
