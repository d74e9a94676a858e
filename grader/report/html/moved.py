"""The comparison of two runs as a page: samples that became right or wrong, rules that found more or less, speed-ups."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from grader.compare import Compared, Moved
from grader.errors import GraderError
from grader.report import moved, names
from grader.report.html import svg
from grader.report.html.plots import Plot
from grader.report.html.templates import environment
from grader.report.status import group
from grader.store import write_whole

if TYPE_CHECKING:
    from markupsafe import Markup

MOST = 500
"""Samples listed for each kind of change."""
MOST_RULES = 16
WIDTH = 460.0
_TALL = 260.0
_LEFT, _RIGHT = 130.0, 330.0


def render(compared: Compared, before: str, after: str) -> str:
    """Return the page; `before` and `after` are links from it to the folders of the two runs."""
    changes = {
        change: [pair for pair in compared.pairs if pair.change == change]
        for change in moved.CHANGES
    }
    return (
        environment()
        .get_template("moved.html.jinja")
        .render(
            compared=compared,
            changes=changes,
            most=MOST,
            chance=moved.chance(compared),
            plots=figures(compared),
            runs=(before, after),
            links=tuple(quote(os.fsencode(run)) for run in (before, after)),
            page=names.page,
            group=group,
        )
    )


def figures(compared: Compared) -> list[Plot]:
    """Return the plots for which there is something to show."""
    made = (_flow(compared.pairs), _ratios(compared.pairs), _rules(compared))
    return [plot for plot in made if plot is not None]


def write(compared: Compared, page: Path, before: Path, after: Path) -> None:
    """Write the page to a file, linked to the two run folders from where it lies.

    Raises GraderError where it can't be written.
    """
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        text = render(compared, _way(page, before), _way(page, after))
        write_whole(page, text.encode("utf-8", "replace"))
    except OSError as error:
        raise GraderError(
            f"can't write {page}: {error.strerror}", "choose another --html"
        ) from error


def _way(page: Path, run: Path) -> str:
    return Path(os.path.relpath(run.resolve(), page.resolve().parent)).as_posix()


def _flow(pairs: Sequence[Moved]) -> Plot | None:
    """Bands from each status before to each status after, as wide as their samples are many."""
    flows = Counter((pair.before, pair.after) for pair in pairs)
    if not flows:
        return None
    scale = _TALL / len(pairs)
    sides = [Counter(getattr(pair, when) for pair in pairs) for when in ("before", "after")]
    starts = [_starts(side, scale) for side in sides]
    parts = list(_columns(sides, starts, scale))
    used = [Counter[str](), Counter[str]()]
    for (old, new), count in sorted(flows.items(), key=lambda item: [*map(_rank, item[0])]):
        tops = (starts[0][old] + scale * used[0][old], starts[1][new] + scale * used[1][new])
        parts.append(_band(old, new, count, tops, scale))
        used[0][old] += count
        used[1][new] += count
    right = [side["correct"] for side in sides]
    caption = f"{right[0]} of {len(pairs)} were right before, {right[1]} after."
    rows = tuple((old, new, str(count)) for (old, new), count in flows.most_common())
    height = 30 + _TALL + 14 * max(map(len, sides))
    picture = svg.picture(WIDTH, height, f"Verdicts before and after. {caption}", parts)
    return Plot("Verdicts", caption, picture, ("before", "after", "samples"), rows)


def _rank(status: str) -> tuple[bool, str]:
    """Sort right statuses to the top."""
    return status != "correct", status


def _starts(side: Counter[str], scale: float) -> dict[str, float]:
    """Return the start of each status's band; gaps leave room for the names."""
    at, made = 26.0, {}
    for status in sorted(side, key=_rank):
        made[status] = at
        at += side[status] * scale + 14
    return made


def _columns(
    sides: Sequence[Counter[str]], starts: Sequence[dict[str, float]], scale: float
) -> Iterable[Markup]:
    for side, start, x, anchor in zip(
        sides, starts, (_LEFT, _RIGHT), ("end", "start"), strict=True
    ):
        edge = x - 6 if anchor == "end" else x + 16
        yield svg.text(edge, 14, "before" if anchor == "end" else "after", "strong", anchor)
        for status, count in side.items():
            kind = kind_of if (kind_of := group(status)) in {"pass", "unsound", "fail"} else "cat4"
            yield svg.rect(x, start[status], 10, max(count * scale, 1.5), kind)
            words = f"{status.replace('_', ' ')} {count}"
            yield svg.text(edge, start[status] + max(count * scale / 2, 4) + 4, words, "", anchor)


def _band(old: str, new: str, count: int, tops: tuple[float, float], scale: float) -> Markup:
    left, right, tall = _LEFT + 10, _RIGHT, max(count * scale, 1.0)
    middle = (left + right) / 2
    path = (
        f"M{left:g},{tops[0]:.1f} C{middle:g},{tops[0]:.1f} {middle:g},{tops[1]:.1f} "
        f"{right:g},{tops[1]:.1f} v{tall:.1f} C{middle:g},{tops[1] + tall:.1f} "
        f"{middle:g},{tops[0] + tall:.1f} {left:g},{tops[0] + tall:.1f} Z"
    )
    kinds = {(False, True): "gained", (True, False): "lost"}
    kind = kinds.get((old == "correct", new == "correct"), "same")
    title = svg.tag("title", f"{old.replace('_', ' ')} to {new.replace('_', ' ')}: {count}")
    return svg.tag("path", title, d=path, class_=f"flow {kind}")


def _ratios(pairs: Sequence[Moved]) -> Plot | None:
    """Bars of the speed-ups' ratios, sorted, on a logarithmic scale of base two."""
    ranked = sorted((p for p in pairs if p.ratio), key=lambda pair: -(pair.ratio or 1))
    if not ranked:
        return None
    sides = svg.doublings(pair.ratio or 1 for pair in ranked)
    most = max(1.0, *map(abs, sides))
    step, middle = (WIDTH - 62) / len(sides), 90.0
    parts = [svg.line(52, middle, WIDTH - 10, middle, "axis")]
    for value in (most, 0.0, -most):
        parts.append(svg.text(48, middle - 76 * value / most + 4, f"{2**value:.3g}x", "", "end"))
    for number, (pair, value) in enumerate(zip(ranked, sides, strict=True)):
        tall = 76 * abs(value) / most
        kind = {"faster": "pass", "slower": "fail"}.get(pair.change, "cat4")
        top = middle - tall if value > 0 else middle
        title = f"{pair.sample}: {pair.ratio:.3g}x, {pair.change}"
        width = max(step - 0.5, 0.5)
        parts.append(svg.rect(52 + number * step, top, width, max(tall, 0.5), kind, title=title))
    faster, slower = (sum(p.change == change for p in ranked) for change in ("faster", "slower"))
    caption = (
        f"Of {len(ranked)} measured in both runs {faster} are faster and {slower} slower; of the "
        "others the intervals meet."
    )
    rows = tuple((pair.sample, f"{pair.ratio:.3g}", pair.change) for pair in ranked[:MOST])
    picture = svg.picture(WIDTH, 180, f"Speed-up after over before. {caption}", parts)
    return Plot("Speed-up after over before", caption, picture, ("sample", "ratio", "change"), rows)


def _rules(compared: Compared) -> Plot | None:
    """Bars of how many samples more, or fewer, have a finding of each rule."""
    if not compared.rules:
        return None
    shown = compared.rules[:MOST_RULES]
    most = max(abs(rule.after - rule.before) for rule in shown)
    parts: list[Markup] = [svg.line(340, 4, 340, 8 + 20.0 * len(shown), "axis")]
    for number, rule in enumerate(shown):
        y, more = 6 + number * 20.0, rule.after - rule.before
        width = abs(more) / most * 70
        parts.append(svg.text(4, y + 12, svg.cut_words(f"{rule.rule} {rule.name}", 36)))
        kind = "fail" if more > 0 else "pass"
        title = f"{rule.rule} {rule.name}: {rule.before} before, {rule.after} after"
        parts.append(svg.rect(340 if more > 0 else 340 - width, y, width, 15, kind, title=title))
        at, anchor = (344 + width, "start") if more > 0 else (336 - width, "end")
        parts.append(svg.text(at, y + 12, f"{more:+d}", "", anchor))
    rows = tuple((r.rule, r.name, str(r.before), str(r.after)) for r in compared.rules)
    first = shown[0]
    caption = (
        f"What moved most is {first.rule} {first.name}: on {first.before} samples before, "
        f"on {first.after} after."
    )
    picture = svg.picture(WIDTH, 12 + 20.0 * len(shown), f"Findings. {caption}", parts)
    return Plot("Findings", caption, picture, ("code", "name", "before", "after"), rows)
