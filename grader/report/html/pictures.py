"""Small pictures of evidence: who met whom in a block, which part of an output is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from grader.records import Evidence, JsonValue, LineCount, Review
from grader.report.html import svg

if TYPE_CHECKING:
    from markupsafe import Markup

MOST = 6
SIDE = 150.0
_RACES = ("race", "race-volatile", "global-race")
_UNWRITTEN = ("uninit-shared-read", "uninit-global-read", "uninit-local-read")
_BARRIERS = ("deadlock", "barrier-exited", "barrier-divergence")
_MASKS = ("sync-exited-lanes", "sync-lane-not-in-mask")
_ACTS = {
    "write-read": ("writes", "reads"),
    "read-write": ("reads", "overwrites"),
    "write-write": ("writes", "overwrites"),
    "atomic-plain": ("updates", "accesses"),
    "plain-atomic": ("accesses", "updates"),
}


class Step(NamedTuple):
    """One thing that one actor of a block does, in the order of time."""

    actor: int
    text: str
    kind: str
    """Class of the box: `act`, `bad`, `wait`, `gone`."""


class Drawn(NamedTuple):
    """A picture with the sentence beneath it."""

    picture: Markup
    caption: str


def pictures(review: Review) -> list[Drawn]:
    """Return the pictures of a review's evidence, each kind of thing once."""
    seen = list(_evidence(review))
    made = [*_steps(seen), *_masks(seen), *_outside(seen), *_regions(seen, review)]
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


# ---------------------------------------------------------------- steps of a block


def _steps(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    for item in [item for item in seen if item.code in _RACES][:2]:
        yield _race(item)
    for item in [item for item in seen if item.code in _UNWRITTEN][:1]:
        yield _unwritten(item)
    stuck = [item for item in seen if item.code in _BARRIERS]
    if stuck:
        yield _stuck([item for item in stuck if item.workload == stuck[0].workload][:3])


def _race(item: Evidence) -> Drawn:
    first, second = _ACTS.get(str(item.data.get("conflict")), ("accesses", "accesses"))
    actors = (_who(item.data, "other_"), _who(item.data, ""))
    line = item.related[0].line if item.related else 0
    steps = (
        Step(0, f"{first} the word{_at(line)}", "act"),
        Step(1, f"{second} it{_line(item)}", "bad"),
    )
    gap = "no barrier between: either may come first"
    return Drawn(_board(actors, steps, gap, item.text), item.text)


def _unwritten(item: Evidence) -> Drawn:
    steps = [
        Step(1, "no thread writes it", "gone"),
        Step(0, f"reads it{_line(item)}", "bad"),
    ]
    if item.related:
        use = str(item.data.get("use") or "used")
        steps.append(Step(0, f"what it got is {use}{_at(item.related[0].line)}", "act"))
    return Drawn(_board((_who(item.data, ""), "the word"), steps, "", item.text), item.text)


def _stuck(items: Sequence[Evidence]) -> Drawn:
    actors: list[str] = []
    steps: list[Step] = []
    for item in items:
        where = "warp operation" if item.data.get("at") == "warp" else "barrier"
        exited = _integer(item.data.get("exited"))
        total = _integer(item.data.get("threads"))
        if item.code == "barrier-exited":
            actors += [f"{exited} threads", f"the other {max(total - exited, 0)}"]
            steps.append(Step(len(actors) - 2, "have returned", "gone"))
        elif item.code == "barrier-divergence":
            actors += ["some threads", "others"]
            line = item.related[0].line if item.related else 0
            steps.append(Step(len(actors) - 2, f"wait at a barrier{_at(line)}", "wait"))
        else:
            actors.append(f"{total} threads" if total else _who(item.data, ""))
        steps.append(Step(len(actors) - 1, f"wait at the {where}{_line(item)}", "wait"))
    caption = " ".join(item.text for item in items)
    return Drawn(_board(actors, steps, "nobody else will come", caption, last=True), caption)


def _board(
    actors: Sequence[str], steps: Sequence[Step], gap: str, label: str, *, last: bool = False
) -> Markup:
    """Draw actors side by side and time downwards; `gap` names what is missing between or after."""
    column, row = 260.0, 46.0
    width = max(column * len(actors), 460.0)
    rows = len(steps) + bool(gap)
    height = 44 + row * rows
    parts = [svg.text(4, 12, "time runs downwards", "faint")]
    for index, actor in enumerate(actors):
        middle = (index + 0.5) * column
        parts.append(svg.line(middle, 34, middle, height - 4, "thread"))
        parts.append(svg.text(middle, 28, actor, "strong", "middle"))
    y = 42.0
    for number, step in enumerate(steps):
        if gap and number == 1 and not last:
            parts += _gap(y, width, gap)
            y += row
        x = step.actor * column + 8
        parts.append(svg.rect(x, y, column - 16, 32, f"step {step.kind}"))
        parts.append(svg.text(x + (column - 16) / 2, y + 20, step.text, "", "middle"))
        y += row
    if gap and last:
        parts += _gap(y, width, gap)
    return svg.picture(width, height, label, parts)


def _gap(y: float, width: float, words: str) -> Iterable[Markup]:
    yield svg.line(4, y + 8, width - 4, y + 8, "gap")
    yield svg.text(width / 2, y + 26, words, "badtext", "middle")


def _who(data: dict[str, JsonValue], prefix: str) -> str:
    thread = data.get(f"{prefix}thread")
    if not isinstance(thread, list):
        return "another thread" if prefix else "a thread"
    return f"thread ({', '.join(str(_integer(part)) for part in thread[:3])})"


def _line(item: Evidence) -> str:
    return _at(item.place.line if item.place else 0)


def _at(line: int) -> str:
    return f", line {line}" if line else ""


# ---------------------------------------------------------------- lanes, addresses, outputs


def _masks(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    for item in [item for item in seen if item.code in _MASKS][:2]:
        mask, thread = _integer(item.data.get("mask")), item.data.get("thread")
        parts = []
        for lane in range(32):
            named = mask >> lane & 1
            words = f"lane {lane}: {'named' if named else 'not named'}"
            parts.append(
                svg.rect(lane * 14.0, 4, 12, 18, "cat0" if named else "hollow", title=words)
            )
        if isinstance(thread, list) and thread and not any(map(_integer, thread[1:])):
            lane = _integer(thread[0]) % 32
            parts.append(svg.text(lane * 14.0 + 6, 38, "↑ here", "badtext", "middle"))
        label = f"The mask {mask:#010x} names {mask.bit_count()} of 32 lanes. {item.text}"
        yield Drawn(svg.picture(450, 44, label, parts), label)


def _outside(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    """Draw where an access falls beside what it should have hit."""
    for item in [item for item in seen if "out-of-bounds" in item.code][:2]:
        size, offset = _integer(item.data.get("size")), item.data.get("offset")
        if size <= 0 or not isinstance(offset, (int, float)):
            continue
        share = min(max(offset / size, -0.4), 1.4)
        at = 90 + share * 240 + (0 if share < 0 else 2)
        parts = [
            svg.rect(90, 8, 240, 22, "cat0"),
            svg.rect(min(at, 440), 4, 6, 30, "fail"),
            svg.text(90, 46, "0"),
            svg.text(330, 46, f"{size} bytes", "", "end"),
            svg.text(at, 60, f"access at {int(offset)}", "badtext", "middle"),
        ]
        yield Drawn(svg.picture(460, 66, item.text, parts), item.text)


def _regions(seen: Sequence[Evidence], review: Review) -> Iterator[Drawn]:
    worst = [c.mismatch for c in review.evaluation.comparisons if c.mismatch]
    dims = max((len(mismatch.worst_index) for mismatch in worst), default=1)
    for item in [item for item in seen if item.kind == "mismatch"]:
        spans = _spans(item.code, item.data)
        if spans:
            across = item.code == "flat-tail" or _integer(item.data.get("dim")) == dims - 1
            yield _region(item, spans, across and dims > 1)


def _region(item: Evidence, spans: Sequence[tuple[float, float]], across: bool) -> Drawn:
    parts = [svg.rect(0, 0, SIDE, SIDE, "right")]
    for low, high in spans:
        at, size = low * SIDE, max((high - low) * SIDE, 1.0)
        shape = (at, 0.0, size, SIDE) if across else (0.0, at, SIDE, size)
        parts.append(svg.rect(*shape, "fail"))
    return Drawn(svg.picture(SIDE, SIDE, f"Part of the output: {item.text}", parts), item.text)


def _spans(code: str, data: dict[str, JsonValue]) -> list[tuple[float, float]]:
    """Return the wrong stretches along one dim, as shares of its length."""
    size = _integer(data.get("size")) or 1
    wrong = data.get("wrong") if isinstance(data.get("wrong"), list) else []
    if code in {"from-index-on", "flat-tail"}:
        return [(_integer(data.get("first_wrong")) / size, 1.0)]
    if code == "up-to-index":
        return [(0.0, _integer(data.get("first_right")) / size)]
    if code == "borders":
        right = (_integer(data.get("first_right")), _integer(data.get("last_right")) + 1)
        return [(0.0, right[0] / size), (right[1] / size, 1.0)]
    if code == "periodic":
        period = _integer(data.get("period")) or 1
        shown = 4
        return [
            (
                (turn + _integer(index) / period) / shown,
                (turn + (_integer(index) + 1) / period) / shown,
            )
            for turn in range(shown)
            for index in (wrong or [])
        ]
    if code == "few":
        return [(_integer(index) / size, (_integer(index) + 1) / size) for index in wrong or []]
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


def _integer(value: JsonValue) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**63 else 0
