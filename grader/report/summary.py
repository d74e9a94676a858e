"""A run's summary, from its rows alone: one row in memory at a time, no review read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.records import JsonValue
from grader.report.status import in_words

MOST_SHOWN = 200
"""Most lines in the table; the folder's README.md has all."""


@dataclass(frozen=True)
class Line:
    """One sample of the table."""

    sample: str
    verdict: str
    """As it is shown."""
    errors: int
    fixed: bool
    sentence: str


@dataclass
class Summary:
    """Counts of a run, and its first samples."""

    counts: Counter[str] = field(default_factory=Counter)
    """Samples by status."""
    shown: Counter[str] = field(default_factory=Counter)
    """Samples by verdict as it is shown."""
    erroneous: bool = False
    """Whether any sample has a finding of severity error."""
    lines: list[Line] = field(default_factory=list)
    """The first MOST_SHOWN."""


def summarise(rows: Iterable[str]) -> Summary:
    """Return the summary of the rows of `results.jsonl`."""
    made = Summary()
    for text in rows:
        row = json.loads(text)
        errors = [finding for finding in row["findings"] if finding["severity"] == "error"]
        made.counts[row["status"]] += 1
        verdict = in_words(row["status"], row["general"])
        made.shown[verdict] += 1
        made.erroneous |= bool(errors)
        if len(made.lines) < MOST_SHOWN:
            fixed = row["repair"] is not None
            why = _error(errors[0]) if errors and row["status"] == "not_run" else row["sentence"]
            made.lines.append(Line(row["sample"], verdict, len(errors), fixed, why))
    return made


def _error(finding: dict[str, JsonValue]) -> str:
    """Return the error found in the text: all that is known of a program that was not run."""
    at = f", line {finding['line']}" if finding["line"] else ""
    return f"{finding['rule']}{at}: {finding['message']}"
