"""What a run comes to, from its rows alone: one row in memory at a time, no review read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_SHOWN = 200
"""Lines of the table; the folder's README.md has all."""


@dataclass(frozen=True)
class Line:
    """One sample of the table."""

    sample: str
    status: str
    errors: int
    mended: bool
    sentence: str


@dataclass
class Summary:
    """Counts of a run, and its first samples."""

    counts: Counter[str] = field(default_factory=Counter)
    """Samples by status."""
    erroneous: bool = False
    """Whether any sample has a finding of severity error."""
    lines: list[Line] = field(default_factory=list)
    """The first MOST_SHOWN."""


def summarise(rows: Iterable[str]) -> Summary:
    """Return what rows of `results.jsonl` come to."""
    made = Summary()
    for text in rows:
        row = json.loads(text)
        errors = sum(finding["severity"] == "error" for finding in row["findings"])
        made.counts[row["status"]] += 1
        made.erroneous |= errors > 0
        if len(made.lines) < MOST_SHOWN:
            mended = row["repair"] is not None
            made.lines.append(Line(row["sample"], row["status"], errors, mended, row["sentence"]))
    return made
