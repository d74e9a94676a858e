"""The reasons beneath a verdict's sentence: each once, without those that a finding or a table below repeats."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Review

MOST = 3
SHORT = 16
"""Length below which one text may contain another by chance."""


def reasons(review: Review, most: int = MOST) -> tuple[list[str], int]:
    """Return the first reasons to show, and how many more there are."""
    kept = list(_once(review))
    return kept[:most], max(0, len(kept) - most)


def _once(review: Review) -> Iterator[str]:
    """Yield the reasons that neither the table of workloads nor a finding's evidence repeats."""
    verdict = review.verdict
    seen = [item.text for finding in review.findings for item in finding.evidence]
    seen += [item.mismatch.text for item in review.evaluation.comparisons if item.mismatch]
    seen = [text.rstrip(".") for text in seen if len(text) >= SHORT]
    told = [verdict.sentence]
    for position, reason in enumerate(verdict.reasons):
        again = any(text in reason for text in seen)
        known = any(reason.rstrip(".") in one for one in told)
        if known or (again and (position or verdict.cause is None)):
            continue
        told.append(reason)
        yield reason
