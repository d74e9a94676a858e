"""Small pictures of evidence: steps of a block, lanes of a mask, addresses, the wrong part of an output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from markupsafe import Markup

from grader.records import Evidence, LaneMask, Review, WrongMap
from grader.report.html import svg
from grader.report.html.coverage import coverage
from grader.report.html.memory import banks, outside, sectors
from grader.report.html.steps import Drawn, steps

MOST = 6
SIDE = 150.0
_MASKS = ("sync-exited-lanes", "sync-lane-not-in-mask")


def pictures(review: Review) -> list[Drawn]:
    """Return the pictures of a review's evidence, each kind of thing once."""
    seen = list(_evidence(review))
    made = [
        *steps(seen, review),
        *_masks(seen),
        *outside(seen),
        *islice(_wrong_parts(review), 2),
        *coverage(seen),
    ]
    for run in review.evaluation.runs[:1]:
        made += sectors(run.counts, review.findings)
    return [*made, *banks(review.findings)][: 2 * MOST]


def _evidence(review: Review) -> Iterator[Evidence]:
    """Yield the evidence of findings, then of runs, each place and kind once."""
    known = set()
    every = [item for finding in review.findings for item in finding.evidence]
    every += [item for run in review.evaluation.runs for item in run.evidence]
    for item in every:
        key = (item.code, item.place.line if item.place else item.text)
        if key not in known:
            known.add(key)
            yield item


def _masks(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    for item in [item for item in seen if item.code in _MASKS][:2]:
        mask = item.details.mask if isinstance(item.details, LaneMask) else 0
        thread = item.actor.thread if item.actor else None
        parts = []
        for lane in range(32):
            named = mask >> lane & 1
            words = f"lane {lane}: {'named' if named else 'not named'}"
            parts.append(
                svg.rect(lane * 14.0, 4, 12, 18, "cat0" if named else "hollow", title=words)
            )
        if thread is not None and not any(thread[1:]):
            lane = thread[0] % 32
            parts.append(svg.text(lane * 14.0 + 6, 38, "↑ here", "badtext", "middle"))
        label = f"The mask {mask:#010x} names {mask.bit_count()} of 32 lanes. {item.text}"
        yield Drawn(svg.picture(450, 44, label, parts), label)


def _wrong_parts(review: Review) -> Iterator[Drawn]:
    """Draw where outputs are wrong, on one workload of those that look the same."""
    known = set()
    for item in review.evaluation.comparisons:
        where = item.mismatch.where if item.mismatch and item.decides else None
        if item.mismatch is None or where is None or (outline := _outline(where)) in known:
            continue
        known.add(outline)
        said = item.mismatch.extent or item.mismatch.text
        caption = f"Where the result on {item.workload} is wrong: {said}."
        tall = SIDE if where.down else 14.0
        parts = [*_cells(where, tall), *_legend(where)]
        yield Drawn(svg.picture(440, max(tall, 70.0), caption, parts), caption)


def _legend(where: WrongMap) -> Iterator[Markup]:
    x = SIDE + 14
    for y, level, words in ((2.0, 9, "wrong; paler where only some are"), (22.0, 0, "right")):
        yield svg.rect(x, y, 12, 12, f"level{level}")
        yield svg.text(x + 18, y + 11, words)
    yield svg.text(x, 50, svg.cut_words(f"across: {where.across}", 44))
    if where.down:
        yield svg.text(x, 66, svg.cut_words(f"down: {where.down}", 44))


def _outline(where: WrongMap) -> tuple[bool, ...]:
    """Return what is wrong of corners, borders and middle: the same for the same fault at other sizes."""
    return tuple(cell > "0" for row in _three(where.rows) for cell in _three(row))


def _three(cells: Sequence[str]) -> tuple[str, str, str]:
    return cells[0], cells[len(cells) // 2], cells[-1]


def _cells(where: WrongMap, height: float) -> Iterator[Markup]:
    """Yield a rectangle for equal cells beside each other, of equal rows together."""
    tall = height / len(where.rows)
    y = 0.0
    for row, rows in groupby(where.rows):
        deep, x = tall * len(list(rows)), 0.0
        for level, cells in groupby(row):
            wide = SIDE / len(row) * len(list(cells))
            yield svg.rect(x, y, wide, deep, f"level{level}")
            x += wide
        y += deep
