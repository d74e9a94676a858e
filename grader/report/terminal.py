"""A markdown review as a terminal shows it: the wide table as lines, what is folded as one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.report.escape import clean

_FENCE = re.compile(r"(`{3,})[^`]*$")
_FOLD = re.compile(r"<details><summary>(.*?)</summary>$")
_LONGEST_LINE = 2000


def terminal(markdown: str, *, everything: bool = False) -> str:
    """Return markdown for a terminal; control characters are gone, also from files not our own.

    A row of facts becomes lines "name value"; a fold becomes its summary, with its contents if
    `everything` is wanted.
    """
    lines = [clean(line, _LONGEST_LINE) for line in markdown.split("\n")]
    made = "\n".join(_unfolded(_facts(lines), everything=everything))
    return re.sub(r"\n{3,}", "\n\n", made) if not everything else made


def _facts(lines: Sequence[str]) -> list[str]:
    """Turn the first table, if it has one row, into text that wraps."""
    head = next((n for n, line in enumerate(lines) if line.startswith("|")), len(lines))
    table = lines[head : head + 4]
    if len(table) < 3 or (len(table) == 4 and table[3].startswith("|")):
        return list(lines)
    names, values = (_cells(table[0]), _cells(table[2]))
    if len(names) != len(values):
        return list(lines)
    facts = " · ".join(f"{n} **{v}**" for n, v in zip(names, values, strict=True))
    return [*lines[:head], facts, *lines[head + 3 :]]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def _unfolded(lines: Sequence[str], *, everything: bool) -> Iterator[str]:
    fence, folded = "", False
    for line in lines:
        inside, shown = bool(fence), everything or not folded
        if opening := _FENCE.match(line):
            fence = opening[1] if not fence else "" if line == fence else fence
        if not inside and (fold := _FOLD.match(line)):
            folded = True
            yield f"▸ {fold[1]}" + ("" if everything else " (`--all` shows it)")
        elif not inside and line == "</details>":
            folded = False
        elif shown:
            yield line
