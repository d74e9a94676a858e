"""Times against the floor: the least time to move the data or to compute the products."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from grader.records import Evaluation, Timing
from grader.report.escape import one_line
from grader.report.html import svg
from grader.report.html.plots import Plot
from grader.report.times import Point, usable

WIDTH, HEIGHT = 420.0, 300.0
_LEFT, _TOP, _BOTTOM = 60.0, 12.0, 256.0
_NAMES = {"compile": "torch.compile", "eager": "eager torch"}


def against_floor(evaluation: Evaluation) -> Plot | None:
    """Bars of one program's time and of the times it is compared with, and the floor as a line."""
    shown = [t for t in usable(evaluation) if t.what != "floor"]
    if not shown:
        return None
    floor = next((t for t in usable(evaluation) if t.what == "floor"), None)
    longest = max(
        *(t.high for t in shown), *(t.median for t in shown), floor.median if floor else 0
    )
    scale = 170 / longest
    parts: list[Markup] = []
    for number, timing in enumerate(shown):
        parts += _bar(number, timing, scale, floor)
    height = 26.0 * len(shown) + 34
    if floor is not None:
        x = 130 + floor.median * scale
        parts.append(svg.line(x, 2, x, height - 20, "rule"))
        parts.append(svg.text(x, height - 6, f"floor {floor.median:.3g} ms", "", "middle"))
    caption = _caption(shown, floor)
    rows = tuple(_row(timing) for timing in usable(evaluation))
    picture = svg.picture(WIDTH + 40, height, f"Time a call. {caption}", parts)
    return Plot("Time a call", caption, picture, ("what", "workload", "median", "95%"), rows)


def floors(points: Sequence[Point]) -> Plot | None:
    """Scatter, both axes logarithmic: the floor's time across, the measured time upwards."""
    if not points:
        return None
    values = [value for p in points for value in (p.floor, p.submission, p.eager) if value]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    axes = _Axes(low, max(high, low + 1))
    parts = [*axes.draw(), *(mark for point in points for mark in _marks(point, axes))]
    near = sum(point.submission <= 2 * point.floor for point in points)
    caption = (
        f"{near} of {len(points)} timed kernels take at most twice their floor. On the line a kernel "
        "moves its data as fast as a copy does, or computes as fast as a matrix product does; filled: "
        "the submission, hollow: eager torch."
    )
    rows = tuple(
        (p.sample, *(f"{v:.4g} ms" if v else "" for v in (p.floor, p.submission, p.eager)))
        for p in points
    )
    picture = svg.picture(WIDTH, HEIGHT, f"Times against the floor. {caption}", parts)
    return Plot(
        "Times against the floor",
        caption,
        picture,
        ("sample", "floor", "time", "eager torch"),
        rows,
    )


def _bar(number: int, timing: Timing, scale: float, floor: Timing | None) -> Iterator[Markup]:
    y, width = 4 + 26.0 * number, timing.median * scale
    name = _NAMES.get(timing.what, one_line(timing.what, 20))
    kind = "cat0" if timing.what == "submission" else "cat4"
    words = f"{timing.median:.3g} ms"
    if floor is not None:
        words += f", {floor.median / timing.median:.0%} of floor"
    yield svg.text(124, y + 14, name, anchor="end")
    yield svg.rect(130, y, max(width, 1.0), 20, kind, title=f"{name}: {words}")
    yield svg.text(134 + max(width, 1.0), y + 14, words)


def _caption(shown: Sequence[Timing], floor: Timing | None) -> str:
    mine = next((timing for timing in shown if timing.what == "submission"), shown[0])
    said = f"{_NAMES.get(mine.what, mine.what)}: {mine.median:.3g} ms on {mine.workload}"
    if floor is None:
        return f"{said}."
    return (
        f"{said}, {floor.median / mine.median:.0%} of the speed that the floor allows "
        f"({floor.note})."
    )


def _row(timing: Timing) -> tuple[str, str, str, str]:
    interval = f"{timing.low:.4g} to {timing.high:.4g} ms" if timing.samples else ""
    return timing.what, timing.workload, f"{timing.median:.4g} ms", interval


class _Axes(NamedTuple):
    """Powers of ten in milliseconds, the same both ways, so that the peak is a diagonal."""

    low: int
    high: int

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return _LEFT + share * (WIDTH - _LEFT - 14)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return _BOTTOM - share * (_BOTTOM - _TOP)

    def draw(self) -> Iterator[Markup]:
        first, last = 10.0**self.low, 10.0**self.high
        for power in range(self.low, self.high + 1):
            at = 10.0**power
            yield svg.line(self.x(at), _TOP, self.x(at), _BOTTOM, "grid")
            yield svg.line(_LEFT, self.y(at), WIDTH - 14, self.y(at), "grid")
            yield svg.text(self.x(at), _BOTTOM + 16, f"{at:g}", anchor="middle")
            yield svg.text(_LEFT - 6, self.y(at) + 4, f"{at:g}", anchor="end")
        yield svg.line(self.x(first), self.y(first), self.x(last), self.y(last), "rule")
        yield svg.text(WIDTH / 2 + 20, HEIGHT - 6, "floor, ms", anchor="middle")
        yield svg.text(4, _TOP + 4, "ms", "faint")


def _marks(point: Point, axes: _Axes) -> Iterator[Markup]:
    x = axes.x(point.floor)
    if point.eager:
        yield svg.line(x, axes.y(point.eager), x, axes.y(point.submission), "thread")
        yield svg.dot(
            x, axes.y(point.eager), "hollow", f"{point.sample}: eager {point.eager:.3g} ms"
        )
    words = f"{point.sample}: {point.submission:.3g} ms, floor {point.floor:.3g} ms"
    yield svg.dot(x, axes.y(point.submission), "mark", words)
