"""GitHub workflow commands: findings as annotations on the lines of a pull request.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions. GitHub shows
ten of each level in a step, so errors of the submission as it is come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.records import Finding, Review
from grader.report.escape import one_line
from grader.report.places import in_file

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = ("error", "warning", "note")


def render(reviews: Iterable[Review], *, notes: bool = False) -> str:
    """Return one command a line: errors and warnings, and notes if asked for.

    A sample that is not correct and has no finding gets an annotation of its verdict. Reviews are
    read once, one at a time, sorted by sample.
    """
    lines = [ranked for review in reviews for ranked in _rank_lines(review, notes=notes)]
    lines.sort(key=lambda ranked: ranked[0])
    return "".join(f"{line}\n" for _, line in lines)


def _rank_lines(review: Review, *, notes: bool) -> Iterator[tuple[tuple[int, bool], str]]:
    """Yield the review's lines, each with its place among those of all reviews."""
    if _is_unexplained(review):
        yield (-1, False), _verdict(review)
    for finding in review.findings:
        if notes or finding.severity != "note":
            rank = (_ORDER.index(finding.severity), bool(finding.after_fix))
            yield rank, _finding(review, finding)


def _is_unexplained(review: Review) -> bool:
    explained = any(finding.severity == "error" for finding in review.findings)
    return review.verdict.status != "correct" and not explained


def _verdict(review: Review) -> str:
    where = f"file={_property(in_file(review, None).path)}"
    title = _property(f"{review.sample}: {review.verdict.status}")
    return f"::error {where},title={title}::{_data(review.verdict.sentence)}"


def _finding(review: Review, finding: Finding) -> str:
    place = in_file(review, finding.place)
    parts = [f"file={_property(place.path)}"]
    if place.line:
        parts += [f"line={place.line}", f"endLine={place.end_line}"]
    title = f"{finding.rule} {finding.name} ({finding.confidence})"
    parts.append(f"title={_property(title)}")
    after = f" (shows after: {'; '.join(finding.after_fix)})" if finding.after_fix else ""
    return f"::{LEVELS[finding.severity]} {','.join(parts)}::{_data(finding.message + after)}"


def _data(text: str) -> str:
    text = one_line(text, 2000)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
