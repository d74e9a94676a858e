"""The semicolon that a compiler misses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_MISSED = re.compile(r"expected (?:a )?\W?;")
_ENDED = (";", "{", "}", ",", "(", ":", "\\", "&&", "||", "=")


def semicolon(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Return the fix that ends the statement before the place where a compiler expected a semicolon."""
    if item.place is None or not _MISSED.search(item.said):
        return ()
    if declarations := _after_declarations(source, item.place.line):
        return declarations
    for line in range(item.place.line, max(item.place.line - 4, 0), -1):
        code = source.lines[line - 1].split("//")[0].rstrip()
        before = line < item.place.line or "after" in item.said
        if (
            before
            and code.strip()
            and not code.endswith(_ENDED)
            and not code.strip().startswith("#")
        ):
            at = source.positions.offset(line, 0) + len(code)
            return fix(f"end line {line} with a semicolon", [Edit(start=at, end=at, text=";")])
    return ()


def _after_declarations(source: Source, line: int) -> tuple[Fix, ...]:
    """Return the fix that ends the last declaration of a text, where that is on this line."""
    for unit in source.cpp:
        code = unit.data.rstrip()
        if code.endswith(b")") and unit.place_span(len(code), len(code)).line == line:
            return fix(
                "end the declaration with a semicolon", [unit.edit(len(code), len(code), ";")]
            )
    return ()
