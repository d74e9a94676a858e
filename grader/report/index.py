"""The table of all reviews: `reviews/README.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from grader.report import escape, names
from grader.report.entry import Entry
from grader.report.status import fix_in_a_word, in_words

HEAD = (
    "sample", "task", "device", "verdict", "why", "errors", "warnings", "fix", "reference kernel",
)  # fmt: skip
WHY = 240
"""Characters of a verdict's sentence that a cell holds; the review has it whole."""


def render(entries: Sequence[Entry]) -> str:
    """Return the table, sorted by sample, with the counts by status above it."""
    counts = Counter(in_words(entry.status, entry.general) for entry in entries)
    shown = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return "\n".join(
        (
            "# Reviews",
            "",
            f"{len(entries)} {'sample' if len(entries) == 1 else 'samples'}: {shown or 'none'}.",
            "",
            f"| {' | '.join(HEAD)} |",
            f"|{'---|' * len(HEAD)}",
            *(_row(entry) for entry in sorted(entries, key=lambda entry: entry.sample)),
            "",
        )
    )


def _row(entry: Entry) -> str:
    cells = (
        f"[{escape.inline(entry.sample)}]({names.markdown_name(entry.sample)})",
        escape.inline(entry.task or "unknown"),
        entry.device,
        f"`{in_words(entry.status, entry.general)}`",
        escape.prose(shorten(entry.sentence, WHY, placeholder=" ...")).replace("|", "\\|"),
        str(entry.errors),
        str(entry.warnings),
        fix_in_a_word(entry.status, fixed=entry.fixed) or "-",
        "passes" if entry.has_reference else "-",
    )
    return f"| {' | '.join(cells)} |"
