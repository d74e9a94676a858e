"""Pictures of memory: an access outside a tensor, lanes over sectors, words that share a bank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from grader.records import Evidence, Finding, LineCount, MemoryAccess
from grader.report.html import svg
from grader.report.html.steps import Drawn

MOST = 2
LANES = 32
STEP = 14.0
_LEFT, _WIDE, _BEYOND = 96.0, 300.0, 56.0


class _Stray(NamedTuple):
    """An access outside the memory that it was meant for, in bytes from the memory's beginning."""

    size: int
    offset: int
    width: int
    name: str


def outside(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    """Yield memory as a strip, with the bytes touched beyond it."""
    for item in [item for item in seen if "out-of-bounds" in item.code][:MOST]:
        stray = _stray(item)
        if stray is not None:
            yield Drawn(svg.picture(460, 74, item.text, _strip(stray)), item.text)


def _stray(item: Evidence) -> _Stray | None:
    access = item.details
    if not isinstance(access, MemoryAccess) or access.size <= 0 or access.offset is None:
        return None
    return _Stray(access.size, access.offset, max(access.width, 1), access.region)


def _strip(stray: _Stray) -> Iterator[Markup]:
    end = _LEFT + _WIDE
    for x in (_LEFT - _BEYOND, end):
        yield svg.rect(x, 20, _BEYOND, 22, "hollow", title="memory that is not part of it")
    yield svg.rect(_LEFT, 20, _WIDE, 22, "cat0", title=stray.name)
    yield svg.text(_LEFT, 13, stray.name or "the memory", "strong")
    yield svg.text(end, 13, f"{stray.size} bytes", "", "end")
    at = _position(stray)
    yield svg.rect(at, 15, 6, 32, "fail", title=f"{stray.width} bytes at {stray.offset}")
    yield svg.text(min(max(at, 120.0), 345.0), 64, _distance(stray), "badtext", "middle")


def _position(stray: _Stray) -> float:
    """Return where the access is drawn: at its place, or at the edge of the room there is."""
    x = _LEFT + stray.offset / stray.size * _WIDE
    return min(max(x, _LEFT - _BEYOND), _LEFT + _WIDE + _BEYOND - 6)


def _distance(stray: _Stray) -> str:
    if stray.offset < 0:
        return f"{-stray.offset} bytes before its beginning"
    if stray.offset == stray.size:
        return "right past its end"
    if stray.offset > stray.size:
        return f"{stray.offset - stray.size} bytes beyond its end"
    return f"{stray.width} bytes at {stray.offset}, across its end"


def sectors(counts: Sequence[LineCount], findings: Sequence[Finding]) -> Iterator[Drawn]:
    """Yield the 32-byte sectors that an access of a warp touches, where that is far above the minimum."""
    poor = [c for c in counts if c.requests and c.ideal_sectors and c.sectors > 2 * c.ideal_sectors]
    apart = dict(_strides(findings))
    for count in sorted(poor, key=lambda count: -count.sectors)[:MOST]:
        touched = min(LANES, round(count.sectors / count.requests))
        least = max(1, round(count.ideal_sectors / count.requests))
        caption = (
            f"Line {count.line}: an access of a warp touches {touched} 32-byte sectors; "
            f"{least} would hold the data."
        )
        lanes, stride = min(LANES, round(count.accesses / count.requests)), apart.get(count.line, 0)
        shown = bool(stride) and touched <= lanes
        parts = [
            *(_lanes(lanes, touched, stride) if shown else ()),
            *_draw_touched(touched, least, 52.0 if shown else 4.0),
        ]
        yield Drawn(svg.picture(450, 76 if shown else 28, caption, parts), caption)


def _strides(findings: Sequence[Finding]) -> Iterator[tuple[int, int]]:
    """Yield lines with the stride between neighbouring lanes, in elements."""
    for finding in findings:
        shape = finding.access
        if shape is not None and shape.stride > 1:
            yield from ((line, shape.stride) for line in shape.lines)


def _lanes(lanes: int, touched: int, stride: int) -> Iterator[Markup]:
    """Yield the participating lanes, evenly spaced, each with a line to its sector."""
    yield svg.text(0, 10, f"{lanes} lanes, each {stride} elements from the next")
    for lane in range(lanes):
        x, sector = lane * STEP + 6, lane * touched // lanes * STEP + 6
        yield svg.line(x, 28, sector, 52, "axis")
        yield svg.rect(x - 6, 16, 12, 12, "cat4", title=f"lane {lane}")


def _draw_touched(touched: int, least: int, y: float) -> Iterator[Markup]:
    for number in range(LANES):
        kind = "cat0" if number < least else "fail" if number < touched else "hollow"
        yield svg.rect(number * STEP, y, 12, 18, kind, title=f"sector {number + 1}")


def banks(findings: Sequence[Finding]) -> Iterator[Drawn]:
    """Yield the words that lanes of a warp request from one bank, one in each turn."""
    for finding in [one for one in findings if one.access and one.access.turns > 1][:1]:
        turns = min(finding.access.turns if finding.access else 0, LANES)
        label = (
            f"One bank of shared memory hands out one word a turn: {turns} words, {turns} turns."
        )
        parts = [svg.text(0, 10, "one access of a warp, turn by turn →")]
        for turn in range(turns):
            kind = "cat0" if turn == 0 else "fail"
            parts.append(svg.rect(turn * STEP, 18, 12, 18, kind, title=f"turn {turn + 1}"))
        at = f"Line {finding.place.line}. " if finding.place else ""
        yield Drawn(
            svg.picture(450, 42, label, parts), f"{at}{label} Without conflicts it is 1 turn."
        )
