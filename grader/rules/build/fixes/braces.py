"""Fixes of braces: one that a function lacks, one too many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source, Unit

_SYNTAX = re.compile(
    r"expected (?:an? )?\W?[;}]|expected a declaration|extraneous closing brace|expected (?:an? )?(?:unqualified-id|declaration)"
    r"|function definition is not allowed|expected \W\}\W at end of input|end of file|extra\w* tokens"
)
_HEAD = re.compile(
    r"(?:template\s*<|__global__|__device__|torch::Tensor\s+\w+\s*\(|std::\w+<.*>\s+\w+\s*\(|void\s+\w+\s*\()"
)
"""What begins a definition, at the beginning of a line."""
_NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def braced(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Close a function before the next one begins, or take out a brace that closes nothing."""
    if not _SYNTAX.search(item.said):
        return ()
    for unit in source.cuda:
        found = _odd_line(unit)
        if found is None:
            continue
        line, missing = found
        lines = unit.text.split("\n")
        start = sum(len(words.encode("utf-8", "replace")) + 1 for words in lines[: line - 1])
        if missing:
            at = min(start, len(unit.data))
            return fix(
                f"close the block before line {unit.place_line(min(line, len(unit.lines))).line}",
                [unit.edit(at, at, "}\n" * missing)],
            )
        stop = start + len(lines[line - 1].encode("utf-8", "replace"))
        where = unit.data.rfind(b"}", start, stop)
        return fix("take out the brace that closes nothing", [unit.edit(where, where + 1, "")])
    return ()


def _odd_line(unit: Unit) -> tuple[int, int] | None:
    """Return the first line where the braces show a slip, and how many are missing before it: 0 for one too many."""
    plain = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), unit.text)
    depth = 0
    lines = plain.split("\n")
    for number, line in enumerate(lines, 1):
        if depth > 0 and _HEAD.match(line):
            return number, depth
        for sign in line:
            depth += (sign == "{") - (sign == "}")
            if depth < 0:
                return number, 0
    return (len(lines) + 1, depth) if depth > 0 else None
