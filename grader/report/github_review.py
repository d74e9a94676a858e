"""A run as a review of a pull request: one summary, and comments on changed lines alone.

Everything from a sample is escaped as in the markdown reviews; text that GitHub would turn into links (names of people,
numbers of issues) is broken up, so that a sample can't notify anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from grader.records import Finding, Review, Status, digest
from grader.report.changed_lines import Changed, Span, is_held
from grader.report.escape import code, end_sentence, prose
from grader.report.findings import shown_findings
from grader.report.places import in_file
from grader.report.proofs import proofs
from grader.report.status import group, in_words
from grader.report.suggestion import Suggestion, suggestion

SUMMARY_MARK = "<!-- kernel-grader: summary -->"
"""First line of the one comment that each run rewrites."""
MOST_COMMENTS = 30
MOST_ROWS = 40
MOST_ELSEWHERE = 20
MOST_CHARACTERS = 60_000
"""GitHub takes 65,536."""
ICONS = {"pass": "✅", "fail": "🛑", "none": "⚪", "ours": "🔧"}
LEVELS = {"error": "🛑 error", "warning": "⚠️ warning"}


@dataclass(frozen=True)
class Comment:
    """A comment on lines of a file (1-based, both included)."""

    path: str
    first: int
    last: int
    mark: str
    """First line of the body, which identifies the comment to a later run; the same when lines are added above."""
    body: str
    """Markdown without the mark."""


UNJUDGED: tuple[Status, ...] = ("not_run", "no_task", "grader_error")
"""Statuses that say nothing about a kernel, `not_run` included."""


@dataclass
class PullReview:
    """The texts posted to a pull request."""

    comments: list[Comment] = field(default_factory=list)
    """The gravest first."""
    rows: list[str] = field(default_factory=list)
    """Table rows of the samples whose file is changed."""
    counts: Counter[str] = field(default_factory=Counter)
    """Those samples by status."""
    others: Counter[str] = field(default_factory=Counter)
    """The other samples by status."""
    elsewhere: list[str] = field(default_factory=list)
    """Findings on lines that are not changed, of changed files."""

    def summary(self, footer: str = "") -> str:
        """Return the body of the summary comment, its mark first; `footer` is trusted markdown."""
        parts = [SUMMARY_MARK, f"### {self._headline()}", *self._table(), *self._elsewhere()]
        if self.others:
            said = ", ".join(f"{count} {status}" for status, count in self.others.most_common())
            parts += ["", f"Samples in files that this pull request does not change: {said}."]
        return _cut_to_limit("\n".join([*parts, "", footer]).rstrip() + "\n")

    def _headline(self) -> str:
        total, right = self.counts.total(), self.counts["correct"]
        unjudged = sum(self.counts[status] for status in UNJUDGED)
        if not total:
            return "kernel-grader: this pull request changes none of the graded kernels"
        if total == 1:
            said = "correct" if right else "not judged" if unjudged else "not correct"
            return f"kernel-grader: the changed kernel is {said}"
        more = f", {unjudged} not judged" if unjudged else ""
        return f"kernel-grader: {right} of {total} changed kernels are correct{more}"

    def _table(self) -> Iterator[str]:
        if not self.rows:
            return
        yield "\n| sample | verdict | why | fix |\n|---|---|---|---|"
        yield from self.rows[:MOST_ROWS]
        if len(self.rows) > MOST_ROWS:
            yield f"\nand {len(self.rows) - MOST_ROWS} more"

    def _elsewhere(self) -> Iterator[str]:
        if not self.elsewhere:
            return
        yield f"\n<details><summary>On lines that are not changed ({len(self.elsewhere)})</summary>\n"
        yield from self.elsewhere[:MOST_ELSEWHERE]
        yield "\n</details>"


def pull_review(reviews: Iterable[Review], changed: Changed, root: Path) -> PullReview:
    """Return the pull request's texts for these reviews; comments go only to these lines, of paths below the root."""
    made = PullReview()
    ranked: list[tuple[int, Comment]] = []
    for review in reviews:
        path = _within(in_file(review, None).path, root)
        if path not in changed:
            made.others[review.verdict.status] += 1
            continue
        made.counts[review.verdict.status] += 1
        made.rows.append(_row(review))
        ranked += _comments(review, path, changed[path], made.elsewhere)
    ranked.sort(key=lambda pair: pair[0])
    made.comments = [comment for _, comment in ranked[:MOST_COMMENTS]]
    return made


def _within(path: str, root: Path) -> str:
    """Return the path from the root, as a diff names it; unchanged where it lies elsewhere."""
    pure = PurePath(path)
    if pure.is_absolute():
        return pure.relative_to(root).as_posix() if pure.is_relative_to(root) else path
    return pure.as_posix()


def _comments(
    review: Review, path: str, changed: Sequence[Span], elsewhere: list[str]
) -> Iterator[tuple[int, Comment]]:
    """Yield the review's comments with their rank; collect the findings that are on no changed line."""
    seen: Counter[str] = Counter()
    offered: set[tuple[int, int]] = set()
    for finding in shown_findings(review.findings):
        if finding.severity == "note":
            continue
        offer = suggestion(review, finding, changed)
        if offer and (offer.first, offer.last) in offered:
            offer = None
        lines = _lines(review, finding, changed, offer)
        if lines is None:
            elsewhere.append(_list_item(review, finding, path))
            continue
        if offer:
            offered.add((offer.first, offer.last))
        key = _key(review, finding, path)
        seen[key] += 1
        mark = f"<!-- kernel-grader: {digest(key, str(seen[key]))[:16]} -->"
        rank = (*LEVELS,).index(finding.severity)
        yield rank, Comment(path, *lines, mark, _cut_to_limit(_body(finding, offer)))


def _lines(
    review: Review, finding: Finding, changed: Sequence[Span], offer: Suggestion | None
) -> Span | None:
    """Return the comment's lines: its suggestion's, else its place's where that is changed."""
    if offer:
        return Span(offer.first, offer.last)
    place = in_file(review, finding.place)
    if place.line and is_held(changed, place.line, max(place.line, place.end_line)):
        return Span(place.line, max(place.line, place.end_line))
    if place.line and is_held(changed, place.line, place.line):
        return Span(place.line, place.line)
    return None


def _key(review: Review, finding: Finding, path: str) -> str:
    lines = (review.code or "").split("\n")
    place = finding.place
    line = lines[place.line - 1] if place and 1 <= place.line <= len(lines) else ""
    return digest("comment", path, review.sample, finding.rule, "".join(line.split()))


def _body(finding: Finding, offer: Suggestion | None) -> str:
    title = f"**{LEVELS[finding.severity]}: {finding.rule} {finding.name}** ({finding.confidence})"
    parts = [title, "", _text(finding.message)]
    if finding.after_fix:
        parts += ["", f"It shows after: {_text('; '.join(finding.after_fix))}"]
    parts += [""] if finding.evidence else []
    parts += [f"- *{proof.kind}*: {_text(proof.text)}" for proof in proofs(finding, 2)]
    if offer:
        parts += ["", offer.block(), "", offer.note]
    elif finding.fixes:
        parts += ["", f"To fix it: {_text(finding.fixes[0].label)}"]
    return "\n".join(parts)


def _row(review: Review) -> str:
    verdict = review.verdict
    fix = any(repair.kind != "reference" for repair in review.repairs)
    status = f"{ICONS[group(verdict.status)]} {in_words(verdict.status, verdict.general).replace('_', ' ')}"
    why = _text(verdict.sentence, 400)
    return f"| {code(review.sample)} | {status} | {why} | {'passes' if fix else ''} |"


def _list_item(review: Review, finding: Finding, path: str) -> str:
    line = in_file(review, finding.place).line
    where = code(f"{path}:{line}" if line else path)
    return f"- {where} {finding.rule}: {end_sentence(_text(finding.message, 300))}"


def _text(text: str, limit: int = 900) -> str:
    """Return a sentence as markdown in which GitHub links neither people nor issues."""
    return prose(text, limit).replace("\\@", "@\u200b").replace("\\#", "#\u200b")


def _cut_to_limit(text: str) -> str:
    """Return the text's first lines, as many as GitHub takes."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[:MOST_CHARACTERS].rpartition("\n")[0] + "\n\n[... the rest is left out ...]\n"
