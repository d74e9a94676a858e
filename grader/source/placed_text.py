"""A C++ or CUDA string of a submission, with the place of each stretch in the Python text."""

import itertools
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from tree_sitter import Node

from grader.records import Edit, Place
from grader.source.positions import Positions, place_span
from grader.source.text import Literal, Piece, Text

UnitLanguage = OneOf["cuda", "cpp"]


@dataclass(frozen=True, eq=False)
class PlacedText:
    """The string for the compiler. Nodes and bytes refer to `data`, the text in UTF-8."""

    language: UnitLanguage
    origin: Text
    positions: Positions
    """Of the Python text."""

    @property
    def text(self) -> str:
        """The compiler's text, as far as known."""
        return self.origin.value

    @property
    def resolved(self) -> bool:
        """False where parts are unknown, such as f-string holes with run-time values."""
        return self.origin.resolved

    @cached_property
    def data(self) -> bytes:
        """The text in UTF-8."""
        return self.text.encode("utf-8", "replace")

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Lines of the text."""
        return tuple(self.text.split("\n"))

    def place(self, node: Node) -> Place:
        """Return a node's place in the submission."""
        return self.place_span(node.start_byte, node.end_byte)

    def place_span(self, start_byte: int, end_byte: int) -> Place:
        """Return the place of a stretch of the text, given in bytes of `data`."""
        return self._place(self._character(start_byte), self._character(end_byte))

    def place_line(self, line: int, column: int = 0) -> Place:
        """Return the place of a line of the text (1-based), without its indentation."""
        line = min(max(line, 1), len(self.lines))
        text = self.lines[line - 1]
        start = self._line_starts[line - 1]
        indent = len(text) - len(text.lstrip())
        first = start + (min(column, len(text)) if column > 0 else indent)
        return self._place(first, start + len(text.rstrip()) if text.strip() else first)

    def edit(self, start_byte: int, end_byte: int, text: str) -> Edit | None:
        """Return the edit of the submission that makes `data[start:end]` the given text.

        The text is escaped for the literal; None where that is impossible.
        """
        span = self._span(self._character(start_byte), self._character(end_byte))
        written = _write_in_literal(text, span[2]) if span else None
        if span is None or written is None:
            return None
        return Edit(start=span[0], end=span[1], text=written)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line) + 1
        return starts

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def _character(self, byte: int) -> int:
        """Return the offset in characters of an offset in bytes."""
        if self._ascii:
            return min(max(byte, 0), len(self.text))
        return len(self.data[: max(byte, 0)].decode("utf-8", "ignore"))

    def _place(self, start: int, end: int) -> Place:
        first = self._piece(start)
        if first is None:
            return place_span(self.positions, 0, 0, self.language, 1)
        begin = self._code_offset(start, *first)
        last = self._piece(end - 1) if end > start else None
        finish = self._code_offset(end, *last) if last else begin
        string_line = self.text.count("\n", 0, start) + 1
        return place_span(self.positions, begin, finish, self.language, string_line)

    def _piece(self, offset: int) -> tuple[Piece, int] | None:
        """Return the piece that holds a character, and where it starts in the text."""
        starts = self.origin.starts
        if not starts:
            return None
        index = bisect_right(starts, max(offset, 0)) - 1
        return self.origin.pieces[index], starts[index]

    @staticmethod
    def _code_offset(offset: int, piece: Piece, at: int) -> int:
        if piece.verbatim:
            return piece.start + min(max(offset - at, 0), piece.length)
        return piece.start if offset <= at else piece.end

    def _span(self, start: int, end: int) -> tuple[int, int, Literal] | None:
        first = self._piece(start)
        last = self._piece(end - 1) if end > start else first
        if first is None or last is None or first[0].literal is None:
            return None
        if not _on_boundary(start, *first) or not _on_boundary(end, *last):
            return None
        begin, finish = self._code_offset(start, *first), self._code_offset(end, *last)
        if not self._contiguous(first[1], last[1]):
            return None
        return begin, finish, first[0].literal

    def _contiguous(self, first: int, last: int) -> bool:
        """Whether the pieces from one start to another follow each other in one literal."""
        starts = self.origin.starts
        low, high = bisect_right(starts, first) - 1, bisect_right(starts, last) - 1
        run = self.origin.pieces[low : high + 1]
        return all(
            a.end == b.start and a.literal == b.literal and b.literal is not None
            for a, b in itertools.pairwise(run)
        )


def _on_boundary(offset: int, piece: Piece, at: int) -> bool:
    return piece.verbatim or offset in {at, at + piece.length}


def _fits_raw(text: str, quote: str) -> bool:
    """Whether a raw literal can contain a text at any place, without a closing quote, also together with adjacent quotes."""
    return quote not in text and not text.endswith("\\") and quote[0] not in text[:1] + text[-1:]


def _write_in_literal(text: str, literal: Literal) -> str | None:
    """Return a text escaped for a literal; None if a raw one can't contain it."""
    long = len(literal.quote) == 3
    if literal.raw:
        if not _fits_raw(text, literal.quote) or ("\n" in text and not long):
            return None
    else:
        text = text.replace("\\", "\\\\").replace(literal.quote, "\\" + literal.quote)
        if long:  # a quote at an end may be next to others in the code
            if text.endswith(literal.quote[0]):
                text = text[:-1] + "\\" + text[-1]
            if text.startswith(literal.quote[0]):
                text = "\\" + text
        if not long:
            text = text.replace("\n", "\\n")
    return text.replace("{", "{{").replace("}", "}}") if literal.formatted else text
