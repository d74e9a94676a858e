"""The table of all reviews: `reviews/README.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from grader.records import Review
from grader.report import escape, names

HEAD = (
    "sample", "task", "device", "verdict", "why", "errors", "warnings", "mend", "reference kernel",
)  # fmt: skip


def render(reviews: Sequence[Review]) -> str:
    """Return the table, sorted by sample, with the counts by status above it."""
    counts = Counter(review.verdict.status for review in reviews)
    shown = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return "\n".join(
        (
            "# Reviews",
            "",
            f"{len(reviews)} samples: {shown or 'none'}.",
            "",
            f"| {' | '.join(HEAD)} |",
            f"|{'---|' * len(HEAD)}",
            *(_row(review) for review in sorted(reviews, key=lambda review: review.sample)),
            "",
        )
    )


def _row(review: Review) -> str:
    severities = Counter(finding.severity for finding in review.findings)
    kinds = {repair.kind for repair in review.repairs}
    cells = (
        f"[{escape.inline(review.sample)}]({names.markdown(review.sample)})",
        escape.inline(review.task.name or "unknown"),
        review.evaluation.device,
        f"`{review.verdict.status}`",
        escape.prose(review.verdict.sentence, 240).replace("|", "\\|"),
        str(severities["error"]),
        str(severities["warning"]),
        "passes" if kinds & {"mend", "model"} else "-",
        "passes" if "reference" in kinds else "-",
    )
    return f"| {' | '.join(cells)} |"
