"""What small changes ask of a function that may be changed, whatever its language."""

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
    """A value that a statement gives a name."""

    name: str
    value: Any
    statement: Any
    updates: bool = False
    """Whether it is made of what the name stood for before."""


@dataclass(frozen=True)
class Likes:
    """Expressions beside each other, of which two may have been taken for each other."""

    nodes: Sequence[Any]
    kinds: Sequence[Hashable]
    """Only those of one kind may."""
    cost: float
    touches: Touches


class Changeable(ABC):
    """A function that may be changed."""

    tree: ClassVar[Tree]
    table: ClassVar[tuple[Rewrite, ...]]
    holes: ClassVar[Mapping[str, Hole]]
    beside: ClassVar[Kind]
    """Where a statement like another one is put."""
    text: Unit | Source
    """What its nodes are part of."""

    @property
    @abstractmethod
    def on_host(self) -> bool:
        """Whether it is host code."""

    @property
    @abstractmethod
    def expressions(self) -> Iterable[Any]:
        """What may be replaced."""

    @property
    @abstractmethod
    def names(self) -> frozenset[str]:
        """Every name that is known in it."""

    @property
    @abstractmethod
    def idle(self) -> frozenset[str]:
        """Names whose value goes nowhere: what the author forgot."""

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
        """Yield what may be exchanged with each other."""

    @abstractmethod
    def words_of(self, node: Any) -> str:
        """Return an expression's text as templates take it."""

    @abstractmethod
    def holds(self, word: str, node: Any) -> bool:
        """Whether an expression is what a row's word asks for."""

    @abstractmethod
    def statement_of(self, node: Any) -> Any:
        """Return the statement that an expression is part of."""

    @abstractmethod
    def touches_of(self, node: Any) -> Touches:
        """Return what a change of an expression touches."""

    @abstractmethod
    def says(self, piece: Piece) -> Hashable:
        """Return what the text says there after a change; None where it says the same."""

    def in_place(self, node: Any, words: str) -> str:  # noqa: ARG002
        """Return new words as they may stand in place of an expression."""
        return words

    def fits(self, node: Any, like: Any) -> bool:  # noqa: ARG002
        """Whether an expression may stand where another does."""
        return True

    def variants(self, words: str) -> Iterator[str]:
        """Yield the forms in which a step of another statement may be taken over."""
        yield words

    def fill(self, site: Site[Any], hole: str) -> Iterator[tuple[str, float]]:
        """Yield what a name in capitals stands for at a site, and what each multiplies the cost with."""
        found = self.holes[hole](site)
        yield from found.items() if isinstance(found, Mapping) else ((name, 1.0) for name in found)

    def is_pair(self, one: Given, other: Given) -> bool:
        """Whether two values take one thing apart: a quotient and a rest."""
        both = {self.tree.sign(one.value), self.tree.sign(other.value)}
        return both <= {"/", "//", "%", "FloorDiv", "Mod"}

    def change(
        self, node: Any, code: str, cost: float, touches: Touches, kind: Kind = "replace", ways: tuple[str, ...] = ()
    ) -> Candidate:  # fmt: skip
        """Return one change at a node."""
        return Candidate((Piece(self.text, node, code, kind),), cost, touches, ways)

    def changes(self, cost: float, touches: Touches, *pairs: tuple[Any, str]) -> Candidate:
        """Return several expressions in other words as one change."""
        return Candidate(tuple(Piece(self.text, *pair) for pair in pairs), cost, touches)

    def old(self, node: Any) -> str:
        """Return a node's text as it is written."""
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
