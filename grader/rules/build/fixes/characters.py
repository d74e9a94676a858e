"""Fixes of characters: a line break inside of C's quotes, signs that only look like those of C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import fix
from grader.source.cuda_code import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Evidence, Fix
    from grader.source import Source

_OPEN_QUOTE = re.compile(
    r"missing closing quote|missing terminating|unterminated|unrecognized token"
)
_STRANGE = re.compile(
    r"unrecognized token|stray|non-ASCII|unexpected character|extra text after|expected an? |<U\+|\\\d{3}|invalid character"
)
_ESCAPE = re.compile(r"(?<!\\)\\([nt])")
LOOKS = {
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u200b": "", "\ufeff": "", "\u2212": "-", "\u2010": "-", "\u2011": "-",
    "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2264": "<=",
    "\u2265": ">=", "\u2260": "!=", "\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1b": ";",
}  # fmt: skip
"""Signs that word processors write, and the ones of C that they look like."""


def escaped(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Keep escaped line breaks for C: Python makes line breaks of them before the compiler sees the text."""
    if not _OPEN_QUOTE.search(item.said):
        return ()
    edits = [
        Edit(start=start + found.start(), end=start + found.start(), text="\\")
        for start, line in _lines(source)
        if '"' in line
        for found in _ESCAPE.finditer(line)
    ]
    return fix("keep the backslash for C", edits)


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines of the C++ texts as they stand in the submission, and where each begins."""
    seen: set[int] = set()
    for unit in units(source):
        first, last = unit.place_line(1).line, unit.place_line(len(unit.lines)).line
        for number in range(first, last + 1):
            if number not in seen:
                seen.add(number)
                yield source.positions.offset(number, 0), source.lines[number - 1]


def plain_signs(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Write the signs of C in the place of those that look like them, outside of comments."""
    if not _STRANGE.search(item.said):
        return ()
    edits = [
        Edit(start=start + at, end=start + at + 1, text=LOOKS[sign])
        for start, line in _lines(source)
        for at, sign in enumerate(line.split("//")[0])
        if sign in LOOKS
    ]
    return fix("write the signs of C", edits)
