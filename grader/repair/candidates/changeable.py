"""The interface of a changeable function, in any language."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from grader.repair.candidates.candidate import Candidate, Kind, Piece, Touches
from grader.repair.candidates.pattern import Hole, Rewrite, Tree
from grader.source import Source, Unit


@dataclass(frozen=True, eq=False)
class Given:
    """A value that a statement assigns to a name."""

    name: str
    value: Any
    statement: Any
    updates: bool = False
    """Whether it depends on the name's previous value."""


@dataclass(frozen=True)
class Likes:
    """Adjacent expressions, two of which may have been confused."""

    nodes: Sequence[Any]
    kinds: Sequence[Hashable]
    """Only those of one kind may."""
    cost: float
    touches: Touches


class Changeable(ABC):
    """A changeable function."""

    tree: ClassVar[Tree]
    table: ClassVar[tuple[Rewrite, ...]]
    holes: ClassVar[Mapping[str, Hole]]
    beside: ClassVar[Kind]
    """Place to insert a statement like another one."""
    text: Unit | Source
    """The text or tree of its nodes."""

    @property
    @abstractmethod
    def on_host(self) -> bool:
        """Whether it is host code."""

    @property
    @abstractmethod
    def expressions(self) -> Iterable[Any]:
        """The replaceable expressions."""

    @property
    @abstractmethod
    def names(self) -> frozenset[str]:
        """Every name that is known in it."""

    @property
    @abstractmethod
    def idle(self) -> frozenset[str]:
        """Names with an unused value, which the author may have forgotten."""

    @property
    @abstractmethod
    def sizes(self) -> Sequence[str]:
        """Names of lengths and counts."""

    stored: Sequence[tuple[str, Any]] = ()
    """Names of arrays, each with a value that a statement puts into it."""

    @cached_property
    @abstractmethod
    def given(self) -> Sequence[Given]:
        """The values that its statements give to names, in the order of the text."""

    @abstractmethod
    def alike(self) -> Iterator[Likes]:
        """Yield the expressions that may be exchanged with each other."""

    @abstractmethod
    def words_of(self, node: Any) -> str:
        """Return an expression's text for templates."""

    @abstractmethod
    def holds(self, word: str, node: Any) -> bool:
        """Whether an expression fulfils a row's condition."""

    @abstractmethod
    def statement_of(self, node: Any) -> Any:
        """Return the statement that an expression is part of."""

    @abstractmethod
    def touches_of(self, node: Any) -> Touches:
        """Return the kinds of results that a change of an expression affects."""

    @abstractmethod
    def says(self, piece: Piece) -> Hashable:
        """Return the text after a change; None where it is the same."""

    def in_place(self, node: Any, words: str) -> str:  # noqa: ARG002
        """Return new text in a form that can replace an expression."""
        return words

    def fits(self, node: Any, like: Any) -> bool:  # noqa: ARG002
        """Whether an expression may replace another."""
        return True

    def variants(self, words: str) -> Iterator[str]:
        """Yield the forms in which a step of another statement may be copied."""
        yield words

    def fill(self, site: Site[Any], hole: str) -> Iterator[tuple[str, float]]:
        """Yield the values of a capital name at a site, each with its factor on the cost."""
        found = self.holes[hole](site)
        yield from found.items() if isinstance(found, Mapping) else ((name, 1.0) for name in found)

    def is_pair(self, one: Given, other: Given) -> bool:
        """Whether two values decompose a number: a quotient and a remainder."""
        both = {self.tree.sign(one.value), self.tree.sign(other.value)}
        return both <= {"/", "//", "%", "FloorDiv", "Mod"}

    def change(
        self, node: Any, code: str, cost: float, touches: Touches, kind: Kind = "replace", ways: tuple[str, ...] = ()
    ) -> Candidate:  # fmt: skip
        """Return one change at a node."""
        return Candidate((Piece(self.text, node, code, kind),), cost, touches, ways)

    def changes(self, cost: float, touches: Touches, *pairs: tuple[Any, str]) -> Candidate:
        """Return the replacement of several expressions as one change."""
        return Candidate(tuple(Piece(self.text, *pair) for pair in pairs), cost, touches)

    def old(self, node: Any) -> str:
        """Return a node's source text."""
        return Piece(self.text, node, "").old


Of = TypeVar("Of", bound=Changeable)


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
