"""A markdown review for a terminal: each folded part is one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.report.escape import clean

_FENCE = re.compile(r"(`{3,})[^`]*$")
_FOLD = re.compile(r"<details><summary>(.*?)</summary>$")
_LONGEST_LINE = 2000


def terminal(markdown: str, *, everything: bool = False) -> str:
    """Return markdown for a terminal, without control characters, also from files of other programs.

    A fold becomes its summary, with its contents if `everything` is wanted.
    """
    lines = [clean(line, _LONGEST_LINE) for line in markdown.split("\n")]
    made = "\n".join(_unfold_lines(lines, everything=everything))
    return re.sub(r"\n{3,}", "\n\n", made) if not everything else made


def _unfold_lines(lines: Sequence[str], *, everything: bool) -> Iterator[str]:
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
