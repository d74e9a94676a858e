"""Small pictures of evidence: steps of a block, lanes of a mask, addresses, the wrong part of an output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from markupsafe import Markup

from grader.records import Evidence, LaneMask, LineCount, MemoryAccess, Review, WrongMap
from grader.report.html import svg
from grader.report.html.steps import Drawn, steps

MOST = 6
SIDE = 150.0
_MASKS = ("sync-exited-lanes", "sync-lane-not-in-mask")


def pictures(review: Review) -> list[Drawn]:
    """Return the pictures of a review's evidence, each kind of thing once."""
    seen = list(_evidence(review))
    made = [*steps(seen, review), *_masks(seen), *_outside(seen), *islice(_wrong_parts(review), 2)]
    made += [drawn for run in review.evaluation.runs[:1] for drawn in _packets(run.counts)]
    return made[: 2 * MOST]


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


def _outside(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    """Draw where an access falls beside what it should have hit."""
    for item in [item for item in seen if "out-of-bounds" in item.code][:2]:
        access = item.details
        if not isinstance(access, MemoryAccess) or access.size <= 0 or access.offset is None:
            continue
        size, offset = access.size, access.offset
        share = min(max(offset / size, -0.4), 1.4)
        at = 90 + share * 240 + (0 if share < 0 else 2)
        parts = [
            svg.rect(90, 8, 240, 22, "cat0"),
            svg.rect(min(at, 440), 4, 6, 30, "fail"),
            svg.text(90, 46, "0"),
            svg.text(330, 46, f"{size} bytes", "", "end"),
            svg.text(min(max(at, 74), 386), 60, f"access at {offset}", "badtext", "middle"),
        ]
        yield Drawn(svg.picture(460, 66, item.text, parts), item.text)


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
    yield svg.text(x, 50, svg.cut(f"across: {where.across}", 44))
    if where.down:
        yield svg.text(x, 66, svg.cut(f"down: {where.down}", 44))


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


def _packets(counts: Sequence[LineCount]) -> Iterator[Drawn]:
    """Draw how many 32-byte sectors a warp's access touches, where that is far from the least."""
    poor = [c for c in counts if c.requests and c.ideal_sectors and c.sectors > 2 * c.ideal_sectors]
    for count in sorted(poor, key=lambda count: -count.sectors)[:2]:
        touched = min(32, round(count.sectors / count.requests))
        least = max(1, round(count.ideal_sectors / count.requests))
        parts = [
            svg.rect(
                n * 14.0, 4, 12, 18, "cat0" if n < least else "fail" if n < touched else "hollow"
            )
            for n in range(32)
        ]
        caption = (
            f"Line {count.line}: an access of a warp touches {touched} 32-byte sectors; "
            f"{least} would hold the data."
        )
        yield Drawn(svg.picture(450, 28, caption, parts), caption)
