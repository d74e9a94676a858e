"""Offsets, lines and columns of a text, in characters, and the places of a submission."""

import ast
from bisect import bisect_right
from itertools import accumulate

from grader.records import Place, PlaceLanguage, Submission


class Positions:
    r"""Line index of a text whose lines end in `\\n`; lines are 1-based, columns 0-based."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: tuple[str, ...] = tuple(text.split("\n"))
        self._starts = tuple(accumulate((len(line) + 1 for line in self.lines), initial=0))[:-1]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, clamped to the text."""
        line = min(max(line, 1), len(self.lines))
        return self._starts[line - 1] + min(max(column, 0), len(self.lines[line - 1]))

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        line = bisect_right(self._starts, max(offset, 0))
        return line, min(max(offset, 0), len(self.text)) - self._starts[line - 1]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node of the `ast` module, whose columns count UTF-8 bytes."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        start = self._byte_offset(line, getattr(node, "col_offset", 0))
        end = self._byte_offset(end_line, getattr(node, "end_col_offset", None) or 0)
        return start, max(start, end)

    def _byte_offset(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        if not text.isascii():
            data = text.encode("utf-8", "surrogatepass")[:column]
            column = len(data.decode("utf-8", "ignore"))
        return self.offset(line, column)


EXCERPT = 200


def place_span(
    positions: Positions,
    start: int,
    end: int,
    language: PlaceLanguage = "python",
    string_line: int | None = None,
) -> Place:
    """Return the place of `text[start:end]`; offsets outside the text are moved to its ends."""
    line, column = positions.locate(start)
    end_line, end_column = positions.locate(max(start, end))
    last = len(positions.lines[line - 1]) if end_line > line else end_column
    excerpt = positions.lines[line - 1][column:last].strip()
    return Place(
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        language=language,
        string_line=string_line,
        excerpt=excerpt[:EXCERPT],
    )


def in_sample(place: Place, submission: Submission) -> Place:
    """Return the place with its line in the sample."""
    return place.model_copy(update={"sample_line": submission.sample_line(place.line)})
