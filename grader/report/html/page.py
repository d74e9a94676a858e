"""The page of one sample: the verdict first, then the source with each finding under its line."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup, escape

from grader.records import Claim, Finding, Repair, Review
from grader.report import excerpt, names
from grader.report.escape import clean
from grader.report.facts import facts
from grader.report.findings import cause, folded_notes, listed_findings
from grader.report.gain import gain
from grader.report.html import highlight
from grader.report.html.pictures import pictures
from grader.report.html.roofline import roofline
from grader.report.html.speed import against_floor
from grader.report.html.templates import environment
from grader.report.log import readable
from grader.report.markdown import where, workloads
from grader.report.places import command
from grader.report.proofs import proofs
from grader.report.reasons import reasons
from grader.report.status import group, in_words

MOST_LINES = 1200
MOST_DIFF = 400
AROUND = 6
"""Lines of code shown before and after a line with a finding."""
SHORTEST_FOLD = 8


class Numbered(NamedTuple):
    """A finding with its number on the page."""

    number: int
    finding: Finding
    where: str


class Row(NamedTuple):
    """A line of code with the findings under it; number 0: lines left out."""

    number: int
    text: Markup
    level: str
    findings: tuple[Numbered, ...]


class Stretch(NamedTuple):
    """Lines of code, shown or folded together."""

    rows: tuple[Row, ...]
    folded: bool


class Spoken(NamedTuple):
    """A line of the transcript; `code` is the number of the submission's lines that it replaces."""

    number: int
    text: str
    claims: tuple[Claim, ...]
    code: int


def render(review: Review, *, alone: bool = False) -> str:
    """Return the page; a standalone page has no script and no links to other files."""
    found = listed_findings(review)
    numbered = [Numbered(n, finding, where(finding)) for n, finding in enumerate(found, start=1)]
    whole = [one for one in review.repairs if one is not review.reference_fast]  # which is linked
    repairs = [(repair, _diff(review, repair)) for repair in whole]
    repairs_shown = any(repair.kind != "reference" for repair in review.repairs)
    drawn = pictures(review)
    words = in_words(review.verdict.status, review.verdict.general)
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            rules={finding.rule for finding in review.findings},
            review=review,
            alone=alone,
            verdict=review.verdict,
            evaluation=review.evaluation,
            numbered=numbered,
            unplaced=[item for item in numbered if not _is_placed(review, item.finding)],
            folded=folded_notes(review.findings),
            reasons=reasons(review),
            facts=facts(review),
            cause=cause(review),
            stretches=_stretches(list(_rows(review, numbered))),
            beside=bool(drawn or repairs_shown or review.repair_note),
            transcript=list(_transcript(review)),
            repairs=repairs,
            gain=gain(review),
            fixes=[(fix, _diff_lines(fix.diff)) for fix in review.further_fixes],
            pictures=drawn,
            speed=[plot for plot in (against_floor(review.evaluation), roofline(review)) if plot],
            workloads=workloads(review),
            log=_log(review),
            group=group(words),
            words=words,
            markdown_name=names.markdown_name(review.sample),
            proofs=proofs,
            command=command,
            repair_name=lambda kind: names.repair(review.sample, kind),
            caret=lambda finding: _caret(review, finding),
        )
    )


def _is_placed(review: Review, finding: Finding) -> bool:
    return finding.place is not None and 1 <= finding.place.line <= _length(review)


def _length(review: Review) -> int:
    return min(len((review.code or "").split("\n")), MOST_LINES)


def _rows(review: Review, numbered: Sequence[Numbered]) -> Iterator[Row]:
    if not review.code:
        return
    under: dict[int, list[Numbered]] = defaultdict(list)
    for item in numbered:
        if item.finding.place and _is_placed(review, item.finding):
            under[min(item.finding.place.end_line, _length(review))].append(item)
    levels = _levels(numbered)
    lines = highlight.lines(review.code)
    for number, text in enumerate(lines[:MOST_LINES], start=1):
        yield Row(number, text, levels.get(number, ""), tuple(under[number]))
    if len(lines) > MOST_LINES:
        yield Row(0, escape(f"[... {len(lines) - MOST_LINES} lines left out ...]"), "", ())


def _stretches(rows: Sequence[Row]) -> list[Stretch]:
    """Return the code as a pull request shows it: lines far from every error and warning are folded."""
    marked = [index for index, row in enumerate(rows) if row.level]
    if not marked:
        return [Stretch(tuple(rows), folded=False)] if rows else []
    near = {
        index
        for mark in marked
        for index in range(mark - AROUND, mark + AROUND + 1)
        if 0 <= index < len(rows)
    }
    grouped = [
        (far, tuple(rows[index] for index in run))
        for far, run in groupby(range(len(rows)), key=lambda index: index not in near)
    ]
    return [Stretch(run, far and len(run) >= SHORTEST_FOLD) for far, run in grouped]


def _levels(numbered: Sequence[Numbered]) -> dict[int, str]:
    """Return the gravest severity of each line's findings, but for notes."""
    levels: dict[int, str] = {}
    for item in numbered:
        place, severity = item.finding.place, item.finding.severity
        if place is not None and severity != "note":
            for line in range(place.line, min(place.end_line, place.line + 40) + 1):
                levels.setdefault(line, severity)
    return levels


def _caret(review: Review, finding: Finding) -> str:
    """Return blanks and carets to stand under the finding's line, or nothing for a whole line."""
    place = finding.place
    if place is None or place.end_line != place.line or not _is_placed(review, finding):
        return ""
    line = (review.code or "").split("\n")[place.line - 1]
    return excerpt.caret(line, place)


def _transcript(review: Review) -> Iterator[Spoken]:
    """Yield the sample's lines; each stretch that became the submission is one entry."""
    taken = set(review.line_map)
    claims: dict[int, list[Claim]] = defaultdict(list)
    for claim in review.claims:
        claims[claim.line].append(claim)
    stretch = shown = 0
    for number, line in enumerate(review.text.split("\n"), start=1):
        if number in taken and number not in claims:
            stretch += 1
            continue
        if stretch:
            yield Spoken(number - stretch, "", (), stretch)
            stretch = 0
        shown += 1
        if shown > MOST_LINES:
            yield Spoken(0, "[... the rest is left out ...]", (), 0)
            return
        yield Spoken(number, clean(line, highlight.MAX_LINE), tuple(claims[number]), 0)
    if stretch:
        yield Spoken(number - stretch + 1, "", (), stretch)


def _diff(review: Review, repair: Repair) -> list[tuple[str, str]]:
    if repair.diff:
        return _diff_lines(repair.diff)
    before, after = (review.code or "").splitlines(), repair.code.splitlines()
    return _diff_lines(
        "\n".join(difflib.unified_diff(before, after, "submission", repair.kind, lineterm=""))
    )


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return each line with its class: `add`, `del`, `at`, or none."""
    classes = {"+": "add", "-": "del", "@": "at"}
    lines = diff.split("\n")
    made = [
        ("" if line.startswith(("+++", "---")) else classes.get(line[:1], ""), clean(line, 1000))
        for line in lines[:MOST_DIFF]
    ]
    left = len(lines) - MOST_DIFF
    return [*made, ("", f"[... {left} lines left out ...]")] if left > 0 else made


def _log(review: Review) -> str:
    build = review.evaluation.build
    if build is None or build.status == "built":
        return ""
    return clean(readable(build.log, 200), 20000)
