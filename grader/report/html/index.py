"""The page of a whole run: its scores, a table to filter and sort, plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from grader.records import Review
from grader.report.escape import one_line
from grader.report.html.plots import plots
from grader.report.html.templates import environment
from grader.report.status import group
from grader.stats import Interval, scores

BUDGET = 290_000
"""Bytes that the page may have; the table's sentences get what the rest leaves."""
_ROW = 230
_FIXED = 45_000


class Line(NamedTuple):
    """One row of the table."""

    sample: str
    task: str
    status: str
    group: str
    speedup: float | None
    interval: str
    errors: int
    warnings: int
    mend: str
    seconds: float
    why: str
    rules: str


def render(reviews: Sequence[Review]) -> str:
    """Return the page."""
    ordered = sorted(reviews, key=lambda review: review.sample)
    room = max(0, min(160, (BUDGET - _FIXED) // max(len(ordered), 1) - _ROW))
    lines = [_line(review, room) for review in ordered]
    return (
        environment()
        .get_template("index.html.jinja")
        .render(
            lines=lines,
            counts=Counter(line.status for line in lines).most_common(),
            group=group,
            numbers=_numbers(ordered),
            plots=plots(ordered),
            strip=_strip(ordered),
            totals=(sum(line.errors for line in lines), sum(line.warnings for line in lines)),
        )
    )


def _line(review: Review, room: int) -> Line:
    verdict = review.verdict
    levels = Counter(finding.severity for finding in review.findings)
    rules = {finding.rule for finding in review.findings if finding.severity != "note"}
    kinds = {repair.kind for repair in review.repairs}
    mend = "mended" if kinds & {"mend", "model"} else "reference" if kinds else ""
    low, high = verdict.speedup_low, verdict.speedup_high
    return Line(
        sample=review.sample,
        task=one_line(review.task.name or "unknown", 60),
        status=verdict.status,
        group=group(verdict.status),
        speedup=verdict.speedup,
        interval=f"[{low:.2f}, {high:.2f}]" if low is not None and high is not None else "",
        errors=levels["error"],
        warnings=levels["warning"],
        mend=mend,
        seconds=sum(review.evaluation.seconds.values()),
        why=_short(verdict.sentence, room),
        rules=" ".join(sorted(rules)[:8]),
    )


def _short(sentence: str, room: int) -> str:
    whole = one_line(sentence, 400)
    return whole if len(whole) <= room else f"{whole[: room - 1]}…" if room > 20 else ""


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
    devices = Counter(review.evaluation.device for review in reviews)
    made = [f"device: {', '.join(sorted(devices))}"] if devices else []
    sandboxes = sorted({r.evaluation.sandbox for r in reviews if r.evaluation.sandbox})
    made += [f"sandbox: {', '.join(sandboxes)}"] if sandboxes else []
    shared = reviews[0].environment.items() if reviews else ()
    return made + [f"{name}: {one_line(value, 80)}" for name, value in sorted(shared)]
