"""The lines added or changed by a patch, read from the hunks of a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(?P<start>\d+)(?:,\d+)? @@")


class Span(NamedTuple):
    """Consecutive lines of the new file (1-based, both included), all of them changed."""

    first: int
    last: int


Changed = Mapping[str, Sequence[Span]]
"""By path from the repository's root; a file with deletions only has no span."""


def spans(patch: str) -> tuple[Span, ...]:
    """Return the changed lines of one file's patch: its hunks, with or without a header before them."""
    found: list[Span] = []
    for line in _added_lines(patch):
        if found and found[-1].last == line - 1:
            found[-1] = found[-1]._replace(last=line)
        else:
            found.append(Span(line, line))
    return tuple(found)


def is_held(found: Sequence[Span], first: int, last: int) -> bool:
    """Whether one span holds all lines from the first to the last."""
    return any(span.first <= first and last <= span.last for span in found)


def _added_lines(patch: str) -> Iterator[int]:
    line = 0
    for text in patch.split("\n"):
        if hunk := _HUNK.match(text):
            line = int(hunk["start"])
        elif line and text.startswith("+"):
            yield line
            line += 1
        elif line and not text.startswith(("-", "\\")):
            line += 1
