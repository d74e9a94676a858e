"""The lines around a place, with a caret under it."""

from __future__ import annotations

from collections.abc import Sequence

from grader.records import Place
from grader.report.escape import clean

MAX_WIDTH = 160


def excerpt(lines: Sequence[str], place: Place, around: int = 1, width: int = 0) -> str:
    """Return the place's lines with `around` more on each side, numbered to at least `width`; a caret marks columns."""
    first = max(1, place.line - around)
    last = min(len(lines), min(place.end_line, place.line + 5) + around)
    width = max(width, len(str(last)))
    shown: list[str] = []
    for number in range(first, last + 1):
        text = clean(lines[number - 1], 4 * MAX_WIDTH).expandtabs(4).replace("\n", " ")
        shown.append(f"{number:>{width}} | {text[:MAX_WIDTH]}".rstrip())
        if number == place.line:
            shown += _caret(lines[number - 1], place, width)
    return "\n".join(shown)


def _caret(line: str, place: Place, width: int) -> list[str]:
    marks = caret(line, place)
    return [f"{'':>{width}} | {marks}"] if marks else []


def caret(line: str, place: Place) -> str:
    """Return blanks and carets to stand under the place in its first line; empty if too far."""
    begin = place.column
    end = place.end_column if place.end_line == place.line else len(line.rstrip())
    if not begin < end <= len(line):
        begin, end = len(line) - len(line.lstrip()), len(line.rstrip())
    left = len(line[:begin].expandtabs(4))
    length = max(1, len(line[:end].expandtabs(4)) - left)
    if left >= MAX_WIDTH:
        return ""
    return f"{'':>{left}}{'^' * min(length, MAX_WIDTH - left)}"
