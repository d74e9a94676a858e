"""Rewrites of expressions: a pattern in the program's own language, its replacement, and the unlikelihood of that.

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
    """Access to the nodes of a language's syntax trees."""

    parse: Callable[[str], Any]
    head: Callable[[Any], Form]
    """Key of a node's form beside its parts; its type comes first."""
    parts: Callable[[Any], Sequence[Any]]
    words: Callable[[Any], str]
    sign: Callable[[Any], str]
    """The operator or function of an expression; empty where it has none, or any."""
    name: Callable[[Any], str]
    """The name of a plain name expression; empty for any other."""
    may_be: Callable[[str, Any], bool]
    """Whether a letter may match a node."""

    def letter(self, pattern: Any) -> str:
        """Return the letter of a pattern's part; empty for other parts."""
        name = self.name(pattern)
        return name if len(name) == 1 and name.islower() else ""


Hole = Callable[[Any], Sequence[str] | Mapping[str, float]]
"""Values of a capital name at a site of its language, each with its factor on the cost."""


@dataclass(frozen=True)
class Rewrite:
    """One replacement of an expression, or insertion beside a statement."""

    pattern: str
    become: tuple[str, ...]
    cost: float
    touches: Touches
    where: tuple[str, ...] = ()
    """Conditions on the expression, or on a letter."""
    together: bool = False
    """Whether it combines with itself elsewhere in a statement, for any change there."""
    kind: Kind = "replace"


def match(tree: Tree, pattern: Any, node: Any, bound: dict[str, Any]) -> dict[str, Any] | None:
    """Return the nodes of the pattern's letters; None where the form differs."""
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
