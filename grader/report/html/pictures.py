"""Small pictures of evidence: steps of a block, lanes of a mask, addresses, the wrong part of an output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.records import Evidence, JsonValue, LineCount, Review
from grader.report.html import svg
from grader.report.html.steps import Drawn, steps, whole

MOST = 6
SIDE = 150.0
_MASKS = ("sync-exited-lanes", "sync-lane-not-in-mask")


def pictures(review: Review) -> list[Drawn]:
    """Return the pictures of a review's evidence, each kind of thing once."""
    seen = list(_evidence(review))
    made = [*steps(seen, review), *_masks(seen), *_outside(seen), *_regions(seen, review)]
    made += [drawn for run in review.evaluation.runs[:1] for drawn in _packets(run.counts)]
    return made[: 2 * MOST]


def _evidence(review: Review) -> Iterator[Evidence]:
    """Yield the evidence of findings, then of runs, each place and kind once."""
    known = set()
    every = [item for finding in review.findings for item in finding.evidence]
    every += [item for run in review.evaluation.runs for item in run.evidence]
    for comparison in review.evaluation.comparisons:
        if comparison.mismatch and comparison.counts:
            every += comparison.mismatch.patterns
    for item in every:
        key = (item.code, item.place.line if item.place else item.text)
        if key not in known:
            known.add(key)
            yield item


def _masks(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    for item in [item for item in seen if item.code in _MASKS][:2]:
        mask, thread = whole(item.data.get("mask")), item.data.get("thread")
        parts = []
        for lane in range(32):
            named = mask >> lane & 1
            words = f"lane {lane}: {'named' if named else 'not named'}"
            parts.append(
                svg.rect(lane * 14.0, 4, 12, 18, "cat0" if named else "hollow", title=words)
            )
        if isinstance(thread, list) and thread and not any(map(whole, thread[1:])):
            lane = whole(thread[0]) % 32
            parts.append(svg.text(lane * 14.0 + 6, 38, "↑ here", "badtext", "middle"))
        label = f"The mask {mask:#010x} names {mask.bit_count()} of 32 lanes. {item.text}"
        yield Drawn(svg.picture(450, 44, label, parts), label)


def _outside(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    """Draw where an access falls beside what it should have hit."""
    for item in [item for item in seen if "out-of-bounds" in item.code][:2]:
        size, offset = whole(item.data.get("size")), whole(item.data.get("offset"))
        if size <= 0 or "offset" not in item.data:
            continue
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


def _regions(seen: Sequence[Evidence], review: Review) -> Iterator[Drawn]:
    worst = [c.mismatch for c in review.evaluation.comparisons if c.mismatch]
    dims = max((len(mismatch.worst_index) for mismatch in worst), default=1)
    for item in [item for item in seen if item.kind == "mismatch"]:
        spans = _spans(item.code, item.data)
        if spans:
            across = item.code == "flat-tail" or whole(item.data.get("dim")) == dims - 1
            yield _region(item, spans, across and dims > 1)


def _region(item: Evidence, spans: Sequence[tuple[float, float]], across: bool) -> Drawn:
    parts = [svg.rect(0, 0, SIDE, SIDE, "right")]
    for low, high in spans:
        at = min(max(low, 0.0) * SIDE, SIDE - 1)
        size = min(max(high * SIDE - at, 1.0), SIDE - at)
        shape = (at, 0.0, size, SIDE) if across else (0.0, at, SIDE, size)
        parts.append(svg.rect(*shape, "fail"))
    return Drawn(svg.picture(SIDE, SIDE, f"Part of the output: {item.text}", parts), item.text)


def _spans(code: str, data: dict[str, JsonValue]) -> list[tuple[float, float]]:
    """Return the wrong stretches along one dim, as shares of its length."""
    size = whole(data.get("size")) or 1
    wrong = data.get("wrong") if isinstance(data.get("wrong"), list) else []
    if code in {"from-index-on", "flat-tail"}:
        return [(whole(data.get("first_wrong")) / size, 1.0)]
    if code == "up-to-index":
        return [(0.0, whole(data.get("first_right")) / size)]
    if code == "borders":
        right = (whole(data.get("first_right")), whole(data.get("last_right")) + 1)
        return [(0.0, right[0] / size), (right[1] / size, 1.0)]
    if code == "periodic":
        period = whole(data.get("period")) or 1
        shown = 4
        return [
            (
                (turn + whole(index) / period) / shown,
                (turn + (whole(index) + 1) / period) / shown,
            )
            for turn in range(shown)
            for index in (wrong or [])
        ]
    if code == "few":
        return [(whole(index) / size, (whole(index) + 1) / size) for index in wrong or []]
    return []


def _packets(counts: Sequence[LineCount]) -> Iterator[Drawn]:
    """Draw how many 32-byte packets a warp's access touches, where that is far from the least."""
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
            f"Line {count.line}: an access of a warp touches {touched} packets of 32 bytes; "
            f"{least} would hold the data."
        )
        yield Drawn(svg.picture(450, 28, caption, parts), caption)
