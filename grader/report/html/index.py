"""The page of a whole run: its scores, a table to filter and sort, plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from grader.records import Review, Verdict
from grader.report.escape import one_line
from grader.report.html.packed import pack
from grader.report.html.plots import plots
from grader.report.html.speed import floors
from grader.report.html.templates import environment
from grader.report.status import group
from grader.stats import Interval, scores

PLAIN = 400
"""Rows that the page has as markup, to read without JavaScript; more rows travel packed."""
BUDGET = 290_000
"""Bytes that the page may have; the table's sentences get what the rest leaves."""
_PLAIN_SENTENCE = 160
_PACKED_SENTENCES = (240, 160, 100, 50, 0)


class Line(NamedTuple):
    """One row of the table."""

    status: str
    group: str
    cells: tuple[str, ...]
    """What is read, by column: sample, task, status, speed-up, errors, warnings, mend, seconds, why."""
    rules: str
    """Codes of its findings, to search for."""


def render(reviews: Sequence[Review]) -> str:
    """Return the page."""
    ordered = sorted(reviews, key=lambda review: review.sample)
    page = _Page(ordered)
    if len(ordered) <= PLAIN:
        return page.text(plain=[_line(review, _PLAIN_SENTENCE) for review in ordered])
    for longest in _PACKED_SENTENCES:
        rows = [(*line.cells, line.rules) for line in (_line(r, longest) for r in ordered)]
        made = page.text(packed=pack(rows))
        if len(made.encode("utf-8", "replace")) <= BUDGET:
            break
    return made


class _Page:
    """The page but for its rows."""

    def __init__(self, reviews: Sequence[Review]) -> None:
        levels = Counter(f.severity for review in reviews for f in review.findings)
        self._parts: dict[str, Any] = {
            "samples": len(reviews),
            "counts": Counter(review.verdict.status for review in reviews).most_common(),
            "group": group,
            "numbers": _numbers(reviews),
            "plots": [*plots(reviews), *filter(None, (floors(reviews),))],
            "strip": _strip(reviews),
            "totals": (levels["error"], levels["warning"]),
        }

    def text(self, plain: Sequence[Line] = (), packed: str = "") -> str:
        template = environment().get_template("index.html.jinja")
        return template.render(lines=plain, packed=packed, **self._parts)


def _line(review: Review, longest: int) -> Line:
    verdict = review.verdict
    levels = Counter(finding.severity for finding in review.findings)
    rules = {finding.rule for finding in review.findings if finding.severity != "note"}
    kinds = {repair.kind for repair in review.repairs}
    cells = (
        review.sample,
        one_line(review.task.name or "unknown", 60),
        verdict.status.replace("_", " "),
        _speed(verdict),
        str(levels["error"] or ""),
        str(levels["warning"] or ""),
        "mended" if kinds & {"mend", "model"} else "reference" if kinds else "",
        f"{sum(review.evaluation.seconds.values()):.1f}",
        _short(verdict.sentence, longest),
    )
    return Line(verdict.status, group(verdict.status), cells, " ".join(sorted(rules)[:8]))


def _speed(verdict: Verdict) -> str:
    if verdict.speedup is None:
        return ""
    low, high = verdict.speedup_low, verdict.speedup_high
    known = low is not None and high is not None
    return f"{verdict.speedup:.2f}x" + (f" [{low:.2f}, {high:.2f}]" if known else "")


def _short(sentence: str, longest: int) -> str:
    whole = one_line(sentence, 400)
    if len(whole) <= longest:
        return whole
    return f"{whole[: longest - 1]}…" if longest else ""


def _numbers(reviews: Sequence[Review]) -> list[tuple[str, str, str]]:
    """Return the header's numbers: value, what it is, and its interval or what it rests on."""
    made = scores(reviews)
    right = sum(review.verdict.status == "correct" for review in reviews)
    failed = [r for r in reviews if group(r.verdict.status) == "fail"]
    mended = sum(any(repair.kind != "reference" for repair in r.repairs) for r in failed)
    fast = made.fast.get("1")
    return [
        (f"{right}/{made.graded}", "correct", _interval(made.correct)),
        (f"{fast.value:.2f}" if fast else "-", "fast₁", _interval(fast) if fast else _UNMEASURED),
        (
            f"{made.speedup:.2f}x" if made.speedup else "-",
            "mean speed-up",
            "geometric, correct samples" if made.speedup else _UNMEASURED,
        ),
        (f"{mended}/{len(failed)}", "mended", "of what failed; each mend has passed"),
    ]


_UNMEASURED = "not measured: needs a GPU"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "nothing was graded"
    return f"{interval.value:.0%}, 95% interval {interval.low:.0%} to {interval.high:.0%}"


def _strip(reviews: Sequence[Review]) -> list[str]:
    """Return what held for the run: devices, sandboxes, versions."""
    devices = sorted({review.evaluation.device for review in reviews})
    shared = dict(reviews[0].environment) if reviews else {}
    if len(devices) > 1:
        shared["device"] = ", ".join(devices)
    sandboxes = sorted({r.evaluation.sandbox for r in reviews if r.evaluation.sandbox})
    made = [f"sandbox: {', '.join(sandboxes)}"] if sandboxes else []
    shown = sorted(shared.items(), key=lambda item: (item[0] != "device", item[0]))
    return [f"{name}: {one_line(value, 80)}" for name, value in shown] + made
