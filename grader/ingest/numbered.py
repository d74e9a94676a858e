"""Lines of text with their line numbers in the sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Line(NamedTuple):
    """A line and its number in the sample (1-based); 0 for one that was put in."""

    number: int
    text: str


Lines = tuple[Line, ...]


def number_lines(text: str, first: int = 1) -> Lines:
    """Return the lines of a text, numbered from `first`."""
    return tuple(Line(number, line) for number, line in enumerate(text.split("\n"), first))


def join_lines(lines: Iterable[Line]) -> str:
    """Return the text of the lines, with a line end after the last one too."""
    return "".join(line.text + "\n" for line in lines)


def trim_blank_lines(lines: Lines) -> Lines:
    """Return the lines without blank ones at the end."""
    end = len(lines)
    while end and not lines[end - 1].text.strip():
        end -= 1
    return lines[:end]


def without_indent(lines: Lines, indent: str) -> Lines:
    """Remove an indentation from the lines; lines with less lose as much of it as they have."""
    if not indent:
        return lines
    return tuple(Line(line.number, _remove_indent(line.text, indent)) for line in lines)


def common_indent(lines: Lines) -> str:
    """Return the whitespace that all lines but blank ones begin with."""
    full = [line.text for line in lines if line.text.strip()]
    if not full:
        return ""
    low, high = min(full), max(full)
    length = 0
    while (
        length < min(len(low), len(high)) and low[length] == high[length] and low[length] in " \t"
    ):
        length += 1
    return low[:length]


def _remove_indent(text: str, indent: str) -> str:
    if text.startswith(indent):
        return text[len(indent) :]
    quote = indent.rstrip()
    if quote and text.startswith(quote):  # `> ` before a line, `>` before an empty one
        return text[len(quote) :]
    length = 0
    while length < min(len(indent), len(text)) and text[length] in " \t":
        length += 1
    return text[length:]
