"""Rewrites of lines by patterns: one entry of `rewrites.toml` for each slip that a compiler reports."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Source
from grader.source.code_edits import fix


@dataclass(frozen=True)
class Rewrite:
    """A replacement for compiler messages of these kinds."""

    label: str
    kinds: frozenset[str]
    patterns: tuple[tuple[str, str], ...]
    everywhere: bool = False
    """Whether all lines of the texts are rewritten, once the line of the message has it; else that line alone."""
    says: str = ""
    """Further pattern of the message."""


@cache
def rewrites() -> tuple[Rewrite, ...]:
    """Return the rewrites, as `rewrites.toml` has them."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return tuple(_read(entry, table["names"]) for entry in table["rewrite"])


def _read(entry: Mapping[str, Any], lists: Mapping[str, str]) -> Rewrite:
    def written_pattern(pattern: str) -> str:
        for name, words in lists.items():
            pattern = pattern.replace(name, words)
        return pattern

    patterns = tuple((written_pattern(old), new) for old, new in entry["patterns"])
    own = {"kinds": frozenset(entry["kinds"]), "patterns": patterns}
    return Rewrite(**{**entry, **own, "says": written_pattern(entry.get("says", ""))})


def rewrite_refused(found: Diagnostic) -> Iterator[Fix]:
    """Yield the rewrites for a message."""
    for one in rewrites():
        if found.kind in one.kinds and found.says(one.says):
            here = list(_edits(found.source, found.line, one))
            lines = _lines(found.source) if one.everywhere and (here or one.says) else ()
            edits = [edit for line in lines for edit in _edits(found.source, line, one)]
            yield from fix(one.label, edits or here)


def _lines(source: Source) -> list[int]:
    """Return the lines of the C++ and CUDA texts."""
    found: set[int] = set()
    for unit in source.units:
        found.update(range(unit.place_line(1).line, unit.place_line(len(unit.lines)).line + 1))
    return sorted(found)


def _edits(source: Source, line: int, one: Rewrite) -> Iterator[Edit]:
    """Yield the edit of a line that these patterns change, outside comments."""
    code = source.lines[line - 1].split("//")[0] if 0 < line <= len(source.lines) else ""
    new = code
    for pattern, words in one.patterns:
        new = re.sub(pattern, words, new)
    if new != code:
        start = source.positions.offset(line, 0)
        yield Edit(start=start, end=start + len(code), text=new)
