"""Plots of a run, each with a caption that states what it shows and the numbers as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from grader.report.entry import Entry
from grader.report.html import svg
from grader.report.status import FAILED, group
from grader.stats import UNJUDGED, Interval, is_faster, is_right, share

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 420.0, 190.0
LEFT, BOTTOM = 40.0, 160.0
THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
MOST_BARS = 14
STAGES = {
    "no code, no task": ("no_code", "no_task"),
    "rejected": ("rejected", "dishonest"),
    "build": ("build_failed", "build_timeout"),
    "run": ("crashed", "hung", "timeout"),
    "result": ("incorrect",),
    "soundness": ("unsound",),
    "not judged": ("not_run", "grader_error"),
}


class Plot(NamedTuple):
    """A picture with its caption and its numbers."""

    title: str
    caption: str
    picture: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def plots(entries: Sequence[Entry]) -> list[Plot]:
    """Return the plots for which there is something to show."""
    made = (failures(entries), rules(entries), speedups(entries), fast_p(entries))
    return [plot for plot in made if plot is not None]


def failures(entries: Sequence[Entry]) -> Plot | None:
    """Bars by the stage at which samples failed, split by the rule named as the cause."""
    causes = {
        stage: Counter(e.cause for e in entries if e.status in statuses)
        for stage, statuses in STAGES.items()
    }
    causes = {stage: counts for stage, counts in causes.items() if counts}
    if not causes:
        return None
    most = max(sum(counts.values()) for counts in causes.values())
    parts: list[Markup] = []
    for number, (stage, counts) in enumerate(causes.items()):
        y, x = 12 + number * 28.0, 120.0
        parts.append(svg.text(112, y + 14, stage, anchor="end"))
        for index, (cause, count) in enumerate(counts.most_common()):
            width = count / most * (WIDTH - 160)
            words = f"{stage}, {cause}: {count}"
            parts.append(svg.rect(x, y, max(width - 1, 1), 20, f"cat{index % 5}", title=words))
            if width > 8 * len(cause):
                parts.append(svg.text(x + width / 2, y + 14, cause, "on", "middle"))
            x += width
        parts.append(svg.text(x + 5, y + 14, str(sum(counts.values()))))
    rows = [
        (stage, cause, str(count))
        for stage, counts in causes.items()
        for cause, count in counts.most_common()
    ]
    failed = {s: c.total() for s, c in causes.items() if group(STAGES[s][0]) in FAILED}
    first = max(failed, key=lambda stage: failed[stage], default="")
    caption = f"Most failed at: {first} ({failed[first]})." if first else "No sample failed."
    height = 20 + 28.0 * len(causes)
    picture = svg.picture(WIDTH, height, f"Failures by stage and cause. {caption}", parts)
    return Plot(
        "Failures by stage and cause", caption, picture, ("stage", "cause", "samples"), tuple(rows)
    )


def rules(entries: Sequence[Entry]) -> Plot | None:
    """Bars by rule: samples with an error or a warning of it."""
    found = Counter(claimed for entry in entries for claimed in entry.claimed)
    if not found:
        return None
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    shown, most = ranked[:MOST_BARS], ranked[0][1]
    parts: list[Markup] = []
    for number, ((code, name, severity), count) in enumerate(shown):
        y, width = 6 + number * 20.0, count / most * 130
        parts.append(svg.text(250, y + 12, svg.cut_words(f"{code} {name}", 36), anchor="end"))
        parts.append(
            svg.rect(256, y, width, 15, severity, title=f"{code} {name}, {severity}: {count}")
        )
        parts.append(svg.text(262 + width, y + 12, str(count)))
    rows = tuple((code, name, level, str(count)) for (code, name, level), count in ranked)
    (code, name, _), count = ranked[0]
    caption = f"The most frequent is {code} {name}: {count} of {len(entries)} samples."
    picture = svg.picture(WIDTH, 12 + 20.0 * len(shown), f"Findings by rule. {caption}", parts)
    return Plot("Findings by rule", caption, picture, ("rule", "name", "severity", "samples"), rows)


def speedups(entries: Sequence[Entry]) -> Plot | None:
    """Histogram of the measured speed-ups in half octaves; failed samples have a bar of their own."""
    values = [e.speedup for e in entries if is_right(e) and e.speedup]
    if not values:
        return None
    bins = Counter(max(-8, min(8, math.floor(2 * math.log2(value)))) for value in values)
    low, high = min(*bins, -2), max(*bins, 2)
    failed = len(entries) - len(values)
    most = max(*bins.values(), failed)
    step = (WIDTH - LEFT - 10) / (high - low + 3)
    parts = [
        _bar(LEFT, step, failed / most, "fail", title=f"not correct or not measured: {failed}")
    ]
    parts.append(svg.text(LEFT + step / 2, BOTTOM + 16, "failed", anchor="middle"))
    for number in range(low, high + 1):
        x = LEFT + (number - low + 2) * step
        words = f"{2 ** (number / 2):.2g}x to {2 ** ((number + 1) / 2):.2g}x: {bins[number]}"
        parts.append(_bar(x, step, bins[number] / most, "pass", title=words))
        if number % 2 == 0:
            parts.append(svg.text(x, BOTTOM + 16, _factor(number // 2), anchor="middle"))
    one = LEFT + (2 - low) * step
    parts += [svg.line(one, 10, one, BOTTOM, "rule"), svg.line(LEFT, BOTTOM, WIDTH, BOTTOM, "axis")]
    faster = sum(value > 1 for value in values)
    caption = f"{faster} of {len(values)} correct and measured kernels are faster than PyTorch."
    rows = tuple(
        (f"{2 ** (n / 2):.3g}x to {2 ** ((n + 1) / 2):.3g}x", str(bins[n])) for n in sorted(bins)
    )
    picture = svg.picture(WIDTH, HEIGHT, f"Speed-ups. {caption}", parts)
    return Plot("Speed-ups", caption, picture, ("speed-up", "samples"), rows)


def _factor(power: int) -> str:
    return f"{2**power}x" if power >= 0 else f"1/{2**-power}x"


def _bar(x: float, step: float, height: float, class_: str, *, title: str) -> Markup:
    height *= BOTTOM - 20
    return svg.rect(x, BOTTOM - height, step - 1, height, class_, title=title)


def fast_p(entries: Sequence[Entry]) -> Plot | None:
    """Draw the share of samples that are correct and faster than p times, for p from 0 to 4."""
    graded = [e for e in entries if e.status not in UNJUDGED]
    if not any(is_right(e) and e.speedup for e in graded):
        return None
    points = [(p, made) for p in THRESHOLDS if (made := share(graded, partial(is_faster, p)))]
    parts = [*_axes(), *_band(points)]
    at_one = next(made for p, made in points if p == 1.0)
    caption = f"fast_1 is {at_one.value:.2f} [{at_one.low:.2f}, {at_one.high:.2f}]."
    rows = tuple((f"{p:g}", f"{i.value:.3f}", f"{i.low:.3f} to {i.high:.3f}") for p, i in points)
    picture = svg.picture(WIDTH, HEIGHT, f"fast_p. {caption}", parts)
    return Plot("fast_p", caption, picture, ("p", "share", "95% interval"), rows)


def _axes() -> Iterable[Markup]:
    yield svg.line(LEFT, BOTTOM, WIDTH - 10, BOTTOM, "axis")
    for p in range(5):
        yield svg.text(_x(p), BOTTOM + 16, f"{p}x", anchor="middle")
    for value in (0.0, 0.5, 1.0):
        yield svg.text(LEFT - 6, _y(value) + 4, f"{value:g}", anchor="end")
        yield svg.line(LEFT, _y(value), WIDTH - 10, _y(value), "grid")


def _band(points: Sequence[tuple[float, Interval]]) -> Iterable[Markup]:
    upper = [f"{_x(p):.1f},{_y(made.high):.1f}" for p, made in points]
    lower = [f"{_x(p):.1f},{_y(made.low):.1f}" for p, made in reversed(points)]
    yield svg.tag("polygon", points=" ".join(upper + lower), class_="band")
    middle = " ".join(f"{_x(p):.1f},{_y(made.value):.1f}" for p, made in points)
    yield svg.tag("polyline", points=middle, class_="curve")


def _x(p: float) -> float:
    return LEFT + p / 4 * (WIDTH - LEFT - 20)


def _y(value: float) -> float:
    return BOTTOM - value * (BOTTOM - 20)
