"""A string value with the place of each of its characters in the Python text, and other values of evaluated expressions."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple


class Literal(NamedTuple):
    """The form of a Python string literal, which an edit inside it has to respect."""

    quote: str
    raw: bool
    formatted: bool
    """Whether it is an f-string, in which braces are doubled."""


class Piece(NamedTuple):
    """A run of characters of a value and its stretch of code."""

    length: int
    start: int
    end: int
    literal: Literal | None
    """None for computed characters (a hole of an f-string, a constant)."""

    @property
    def verbatim(self) -> bool:
        """Whether the characters are unescaped in the code."""
        return self.literal is not None and self.end - self.start == self.length


@dataclass(frozen=True)
class Text:
    """A string and its provenance; `resolved` is False where parts of it are unknown."""

    value: str
    pieces: tuple[Piece, ...]
    resolved: bool = True

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Offset of each piece in `value`."""
        return tuple(accumulate((piece.length for piece in self.pieces), initial=0))[:-1]

    def __add__(self, other: Text) -> Text:
        return Text(
            self.value + other.value, self.pieces + other.pieces, self.resolved and other.resolved
        )

    def mark_unresolved(self) -> Text:
        """Return the same text, marked as not fully known."""
        return Text(self.value, self.pieces, resolved=False)

    def cut(self, start: int, end: int) -> Text:
        """Return `value[start:end]` with its pieces."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        last = bisect_left(self.starts, end)
        pieces = tuple(
            _clip(piece, max(start - at, 0), min(end - at, piece.length))
            for piece, at in zip(self.pieces[first:last], self.starts[first:last], strict=True)
            if at + piece.length > start
        )
        return Text(self.value[start:end], pieces, self.resolved)


def join(parts: list[Text]) -> Text:
    """Return the parts one after the other, in linear time."""
    return Text(
        "".join(part.value for part in parts),
        tuple(piece for part in parts for piece in part.pieces),
        all(part.resolved for part in parts),
    )


def computed_text(value: str, start: int, end: int, *, resolved: bool = True) -> Text:
    """Return a value that the code at `start:end` computes rather than spells out."""
    return Text(value, (Piece(len(value), start, end, None),) if value else (), resolved)


def _clip(piece: Piece, first: int, last: int) -> Piece:
    if first == 0 and last == piece.length:
        return piece
    if piece.verbatim:
        return Piece(last - first, piece.start + first, piece.start + last, piece.literal)
    return Piece(last - first, piece.start, piece.end, None)


class Unknown:
    """An unknown value."""


UNKNOWN = Unknown()
Value = Text | tuple["Value", ...] | dict[str, "Value"] | int | float | bool | None | Unknown


def arithmetic(operator: ast.operator, left: Value, right: Value) -> Value:
    """Fold whole numbers; sizes of blocks and tiles are written like that."""
    if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > 1 << 40:
        return UNKNOWN
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
    return UNKNOWN
