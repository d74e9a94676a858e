"""The order in which findings are shown; notes of the same rule are shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.records import Finding, Review

_SEVERITIES = ("error", "warning", "note")
_CONFIDENCES = ("proven", "likely", "possible")
MOST_LINES = 6


def rank_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the gravest first; those of the submission as it is before those seen after a fix."""
    return sorted(findings, key=_rank)


def _rank(finding: Finding) -> tuple[int, bool, int]:
    return (
        _SEVERITIES.index(finding.severity),
        bool(finding.after_fix),
        _CONFIDENCES.index(finding.confidence),
    )


def folded_notes(findings: Iterable[Finding]) -> list[str]:
    """Return the names of the notes that hold for nearly every kernel."""
    return sorted({f"{item.name} ({item.rule})" for item in findings if item.folded})


def shown_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without the folded notes, ranked."""
    return [finding for finding in rank_findings(findings) if not finding.folded]


def by_rule(findings: Sequence[Finding]) -> list[tuple[Finding, str]]:
    """Return the first finding of each rule with the lines of all: "lines 34, 42, 55"."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    return [(items[0], _lines(items)) for items in groups.values()]


def _lines(findings: Sequence[Finding]) -> str:
    lines = sorted({finding.place.line for finding in findings if finding.place})
    if not lines:
        return ""
    listed = ", ".join(map(str, lines[:MOST_LINES])) + (", ..." if len(lines) > MOST_LINES else "")
    return f"line {listed}" if len(lines) == 1 else f"lines {listed}"


def cause(review: Review) -> Finding | None:
    """Return the finding that the review's first sentence states, if there is one."""
    at = review.verdict.cause
    return review.findings[at] if at is not None and 0 <= at < len(review.findings) else None


def listed_findings(review: Review) -> list[Finding]:
    """Return the findings to show: the one that the verdict rests on first, then by rank."""
    first = cause(review)
    found = shown_findings(review.findings)
    return found if first is None else [first, *(one for one in found if one is not first)]
