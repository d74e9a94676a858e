r"""Code inside a JSON string: tool calls in a trajectory, `{"code": "import torch\n..."}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_QUOTE = re.compile(r'(?<!\\)"')
_ESCAPED_LINE = re.compile(r"\\n[ \t]*class[ \t]")
MAX_DEPTH = 3
"""Levels of nested strings that are decoded: a tool call's arguments are JSON inside a JSON string."""


class Quoted(NamedTuple):
    """A JSON string of a text, decoded."""

    start: int
    end: int
    """Offsets of the literal, including its quotes."""
    text: str


def quoted_texts(text: str, name: str) -> Iterator[Quoted]:
    """Yield the JSON strings of a text, in order, that hold the definition of a class.

    Only lines that can hold such a definition are decoded, so a text without one costs little.
    """
    wanted = re.compile(rf"class[ \t]+{name}\b")
    at = 0
    while found := wanted.search(text, at):
        start = text.rfind("\n", 0, found.start()) + 1
        at = text.find("\n", found.start())
        at = len(text) if at < 0 else at
        if _ESCAPED_LINE.search(text, start, at):
            yield from _in_line(text, start, at, wanted)


def _in_line(text: str, start: int, end: int, wanted: re.Pattern[str]) -> Iterator[Quoted]:
    found = False
    for literal in _STRING.finditer(text, start, end):
        if not wanted.search(text, *literal.span()):
            continue
        decoded = _decode_literal(literal[0], wanted)
        if decoded is not None:
            found = True
            yield Quoted(literal.start(), literal.end(), decoded)
    if not found and (end - start) * 10 > len(text) * 9:
        bare = _bare(text[start:end])
        if bare is not None and wanted.search(bare):
            yield Quoted(start, end, bare)


def _bare(line: str) -> str | None:
    """Decode a text of one line that is a JSON string without its quotes."""
    inside = _QUOTE.sub(r'\\"', line.replace("\\'", "'"))
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return None


def _decode_literal(literal: str, wanted: re.Pattern[str]) -> str | None:
    """Decode a literal; if it holds JSON, return the string with the definition."""
    for _ in range(MAX_DEPTH):
        try:
            value = json.loads(literal)
        except (ValueError, RecursionError):
            return None
        inner = [one[0] for one in _STRING.finditer(value) if wanted.search(one[0])]
        if not inner or "\n" in value.strip() or not _ESCAPED_LINE.search(inner[-1]):
            return str(value)
        literal = inner[-1]
    return None
