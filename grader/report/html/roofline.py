"""The roofline of one task on one GPU: the submission, eager torch and the reference-fixed kernel.

Across: operations for each byte that must move, as the reference does them; upwards: operations a
second. The slanted peak is a copy's bandwidth, the level one a matrix product's rate, both measured.
Source: Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from grader.records import Evaluation, Review, Work
from grader.report.html import svg
from grader.report.html.plots import Plot

WIDTH, HEIGHT = 420.0, 270.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, 24.0, 14.0, 222.0
_CLASSES = {"submission": "mark", "eager torch": "hollow", "reference-fixed kernel": "cat2"}
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def roofline(review: Review) -> Plot | None:
    """Draw the roofline where the program was timed and the task has arithmetic."""
    work = review.evaluation.work
    if work is None or not _all(work):
        return None
    rates = {name: _all(work) / s for name, s in _seconds(review).items()}
    if not rates:
        return None
    axes = _Axes.around(work, rates.values())
    parts = [*axes.grid(), *axes.peaks(), *_marks(axes, rates)]
    caption = _caption(work, rates)
    rows = tuple(
        (name, f"{_short(rate)}FLOP/s", f"{rate / axes.peak:.0%}") for name, rate in rates.items()
    )
    picture = svg.picture(WIDTH, HEIGHT, f"Roofline. {caption}", parts)
    return Plot("Roofline", caption, picture, ("what", "operations a second", "of the peak"), rows)


def _seconds(review: Review) -> Mapping[str, float]:
    """Return the median seconds a call by name, all of the same workload."""
    work = review.evaluation.work
    assert work is not None
    found = {
        {"eager": "eager torch", "compile": "torch.compile"}.get(what, what): seconds
        for what, seconds in _times(review.evaluation, work.workload)
        if what != "floor"
    }
    for repair in review.repairs:
        own = dict(_times(repair.evaluation, work.workload)).get("submission")
        if repair.kind == "reference" and own:
            fast = ", fast" if repair is review.reference_fast else ""
            found[f"reference-fixed kernel{fast}"] = own
    return found


def _times(evaluation: Evaluation, workload: str) -> Iterator[tuple[str, float]]:
    for timing in evaluation.timings:
        if timing.workload == workload and math.isfinite(timing.median) and timing.median > 0:
            yield timing.what, timing.median / 1e3


def _caption(work: Work, rates: Mapping[str, float]) -> str:
    intensity = _all(work) / work.bytes
    mine = rates.get("submission")
    said = f"The task needs {intensity:.3g} operations for each byte that must move"
    said += " (estimated: one for each element of every operator)" if work.others else ""
    limit = "arithmetic" if work.rate and work.seconds > work.bytes / work.bandwidth else "memory"
    peak = f"; {limit} is its peak on this GPU"
    share = work.seconds * mine / _all(work) if mine else None
    reached = "" if share is None else f", and the submission reaches {share:.0%} of it"
    return f"{said}{peak}{reached}."


def _all(work: Work) -> int:
    return work.products + work.others


def _marks(axes: _Axes, rates: Mapping[str, float]) -> Iterator[Markup]:
    """Draw a dot for each program, and names beside dots of the same kind where there is space."""
    x = axes.x(axes.intensity)
    legend = x - 170 if x > (_LEFT + WIDTH) / 2 else x + 30
    for number, (name, rate) in enumerate(sorted(rates.items(), key=lambda item: item[1])):
        words = f"{name}: {_short(rate)}FLOP/s"
        kind = _CLASSES.get(name, "cat4")
        yield svg.dot(x, axes.y(rate), kind, words)
        y = _BOTTOM - 14 - 16.0 * number
        yield svg.dot(legend, y, kind, words)
        yield svg.text(legend + 9, y + 4, name)


class _Axes(NamedTuple):
    """Powers of ten; operations a byte across, operations a second upwards."""

    intensity: float
    bandwidth: float
    rate: float | None
    across: tuple[int, int]
    upwards: tuple[int, int]

    @classmethod
    def around(cls, work: Work, rates: Iterable[float]) -> _Axes:
        intensity = _all(work) / work.bytes
        peak = min(intensity * work.bandwidth, work.rate or math.inf)
        across = [intensity, *([work.rate / work.bandwidth] if work.rate else [])]
        return cls(intensity, work.bandwidth, work.rate, _span(across), _span([peak, *rates]))

    @property
    def peak(self) -> float:
        """Operations a second that the peaks allow at the task's intensity."""
        return min(self.intensity * self.bandwidth, self.rate or math.inf)

    def x(self, value: float) -> float:
        low, high = self.across
        share = (math.log10(value) - low) / (high - low)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.upwards
        return _BOTTOM - (math.log10(value) - low) / (high - low) * (_BOTTOM - _TOP)

    def grid(self) -> Iterator[Markup]:
        for power in range(self.across[0], self.across[1] + 1):
            at = self.x(10.0**power)
            yield svg.line(at, _TOP, at, _BOTTOM, "grid")
            yield svg.text(at, _BOTTOM + 16, f"{10.0**power:g}", anchor="middle")
        for power in range(self.upwards[0], self.upwards[1] + 1):
            at = self.y(10.0**power)
            yield svg.line(_LEFT, at, WIDTH - _RIGHT, at, "grid")
            yield svg.text(_LEFT - 6, at + 4, _short(10.0**power), anchor="end")
        words = "FLOP/s over operations for each byte"
        yield svg.text(WIDTH / 2 + 20, HEIGHT - 10, words, anchor="middle")

    def peaks(self) -> Iterator[Markup]:
        low, high = 10.0 ** self.across[0], 10.0 ** self.across[1]
        least, most = 10.0 ** self.upwards[0], min(10.0 ** self.upwards[1], self.rate or math.inf)
        start, end = max(low, least / self.bandwidth), min(high, most / self.bandwidth)
        if start < end:
            yield svg.line(
                self.x(start),
                self.y(start * self.bandwidth),
                self.x(end),
                self.y(end * self.bandwidth),
                "rule",
            )
        if self.rate and self.rate <= 10.0 ** self.upwards[1] and end < high:
            yield svg.line(self.x(end), self.y(self.rate), self.x(high), self.y(self.rate), "rule")


def _span(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that hold all values with room to either side."""
    low = math.floor(math.log10(min(values)) - 0.3)
    return low, max(math.ceil(math.log10(max(values)) + 0.3), low + 2)


def _short(value: float) -> str:
    scale, prefix = next(((s, p) for s, p in _PREFIXES if value >= s), (1.0, ""))
    return f"{value / scale:.3g} {prefix}"
