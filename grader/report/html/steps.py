"""Step pictures: the actions of a block's threads side by side, time downwards, and the missing step.

They show a race, a read of unwritten memory, or threads that wait for each other, as the simulator saw them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from grader.records import Actor, Evidence, Race, Review, UnwrittenRead, Waiting
from grader.report.escape import clean
from grader.report.html import svg

_RACES = ("race", "race-volatile", "global-race")
_UNWRITTEN = ("uninit-shared-read", "uninit-global-read", "uninit-local-read")
_STUCK = ("deadlock", "grid-deadlock", "livelock", "barrier-exited", "barrier-divergence")
_ACTS = {
    "write-read": ("writes", "reads"),
    "read-write": ("reads", "overwrites"),
    "write-write": ("writes", "overwrites"),
    "atomic-plain": ("updates", "accesses"),
    "plain-atomic": ("accesses", "updates"),
}
_COLUMN, _BOX, _GAP = 264.0, 44.0, 14.0
_CODE = 36
"""Characters of a source line that fit into a box."""


class Drawn(NamedTuple):
    """A picture with the sentence beneath it."""

    picture: Markup
    caption: str


class Step(NamedTuple):
    """One action of one actor, in order of time."""

    actor: int
    words: str
    kind: str
    """Class of the box: `act`, `bad`, `wait`, `gone`."""
    code: str = ""
    """The source line, if there is one."""


class Lack(NamedTuple):
    """The missing step, and the step that it should precede."""

    words: str
    before: int


def steps(seen: Sequence[Evidence], review: Review) -> Iterator[Drawn]:
    """Yield the pictures: at most two races, one read of unwritten memory, one deadlock."""
    lines = (review.code or "").split("\n")
    for item in [item for item in seen if item.code in _RACES][:2]:
        yield _race(item, lines, _block(item, review))
    for item in [item for item in seen if item.code in _UNWRITTEN][:1]:
        yield _draw_unwritten(item, lines)
    stuck = [item for item in seen if item.code in _STUCK]
    if stuck:
        yield _stuck([item for item in stuck if item.workload == stuck[0].workload][:3], lines)


def _race(item: Evidence, lines: Sequence[str], block: tuple[int, int, int] | None) -> Drawn:
    first, second = _ACTS.get(
        item.details.conflict if isinstance(item.details, Race) else "", ("accesses", "accesses")
    )
    line = item.related[0].line if item.related else 0
    made = (
        Step(0, f"{first} the word{_at(line)}", "act", _source(lines, line)),
        Step(1, f"{second} it{_line(item)}", "bad", _source(lines, _place(item))),
    )
    lack = Lack("no barrier between: either may come first", 1)
    actors = (_say_other(item), _who(item))
    warps = _warps(item, block, (first, second)) if block and item.code != "global-race" else None
    return Drawn(_board(actors, made, lack, item.text, warps), item.text)


def _draw_unwritten(item: Evidence, lines: Sequence[str]) -> Drawn:
    made = [
        Step(1, "no thread writes it", "gone"),
        Step(0, f"reads it{_line(item)}", "bad", _source(lines, _place(item))),
    ]
    if item.related:
        read, line = item.details, item.related[0].line
        use = (read.use if isinstance(read, UnwrittenRead) else "") or "used"
        made.append(Step(0, f"what it got is {use}{_at(line)}", "act", _source(lines, line)))
    return Drawn(_board((_who(item), "the word"), made, None, item.text), item.text)


def _stuck(items: Sequence[Evidence], lines: Sequence[str]) -> Drawn:
    actors: list[str] = []
    made: list[Step] = []
    for item in items:
        exited, total = _waits(item).exited, _waits(item).threads
        if item.code == "barrier-exited":
            actors += [f"{exited} threads", f"the other {max(total - exited, 0)}"]
            made.append(Step(len(actors) - 2, "have returned", "gone"))
        elif item.code == "barrier-divergence":
            actors += ["some threads", "others"]
            line = item.related[0].line if item.related else 0
            made.append(
                Step(len(actors) - 2, f"wait at a barrier{_at(line)}", "wait", _source(lines, line))
            )
        else:
            actors.append(f"{_count(total)}{_of_blocks(item)}" if total else _who(item))
        source = _source(lines, _place(item))
        made.append(Step(len(actors) - 1, f"{_say_waiting(item)}{_line(item)}", "wait", source))
    caption = " ".join(item.text for item in items)
    words = "no other thread will arrive"
    if any(item.code in {"grid-deadlock", "livelock"} for item in items):
        words = "no thread that still runs does what they wait for"
    return Drawn(
        _board(actors, made, Lack(words, len(made)), caption, _draw_split_block(items[0])), caption
    )


def _draw_split_block(item: Evidence) -> list[Markup] | None:
    """Draw the threads of a block as a bar, split at those that returned before the barrier."""
    waiting = item.details
    if item.code != "barrier-exited" or not isinstance(waiting, Waiting):
        return None
    gone, total = waiting.exited, waiting.threads
    if not 0 < gone < total:
        return None
    wide = 400.0 * gone / total
    words = f"{total} threads: {gone} have returned, {total - gone} wait"
    rest = svg.rect(4 + wide, 20, 400 - wide, 18, "warning", title="these wait")
    return [svg.text(4, 12, words), svg.rect(4, 20, wide, 18, "hollow", title="gone"), rest]


def _say_waiting(item: Evidence) -> str:
    if item.code == "livelock":
        return "turns for ever"
    if item.code == "grid-deadlock":
        return "wait"
    return f"wait at the {'warp operation' if _waits(item).at == 'warp' else 'barrier'}"


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _of_blocks(item: Evidence) -> str:
    blocks = _waits(item).blocks
    return f" of {blocks} blocks" if blocks > 1 else ""


# ---------------------------------------------------------------- drawing


def _board(
    actors: Sequence[str],
    made: Sequence[Step],
    lack: Lack | None,
    label: str,
    strip: Sequence[Markup] | None = None,
) -> Markup:
    """Draw actors side by side and time downwards, with a strip of warps above them."""
    top = 66.0 if strip else 18.0
    width = max(_COLUMN * len(actors), 460.0)
    height = top + 26 + (_BOX + _GAP) * len(made) + (34 if lack else 0)
    parts = [*(strip or ()), svg.text(4, top - 4, "time runs downwards ↓", "faint")]
    for index, actor in enumerate(actors):
        middle = (index + 0.5) * _COLUMN
        parts.append(svg.line(middle, top + 20, middle, height - 4, "thread"))
        parts.append(svg.text(middle, top + 14, actor, "strong", "middle"))
    y = top + 26
    for number, step in enumerate(made):
        if lack and lack.before == number:
            parts += _gap(y, width, lack.words)
            y += 34
        parts += _box(step, y)
        y += _BOX + _GAP
    if lack and lack.before >= len(made):
        parts += _gap(y, width, lack.words)
    return svg.picture(width, height, label, parts)


def _box(step: Step, y: float) -> Iterator[Markup]:
    x, wide = step.actor * _COLUMN + 6, _COLUMN - 12
    yield svg.rect(x, y, wide, _BOX, f"step {step.kind}")
    yield svg.text(x + wide / 2, y + (18 if step.code else 27), step.words, "", "middle")
    if step.code:
        yield svg.text(x + wide / 2, y + 35, step.code, "source", "middle")


def _gap(y: float, width: float, words: str) -> Iterator[Markup]:
    yield svg.line(4, y, width - 4, y, "gap")
    yield svg.text(width / 2, y + 18, words, "badtext", "middle")


def _warps(
    item: Evidence, block: tuple[int, int, int], acts: tuple[str, str]
) -> list[Markup] | None:
    """Draw the block's warps as squares, and mark the two threads' warps."""
    count = math.ceil(math.prod(block) / 32)
    places = [_linear(actor, block) for actor in (item.other_actor, item.actor)]
    if not 1 <= count <= 32 or None in places:
        return None
    first, second = (place // 32 for place in places if place is not None)
    words = f"warp {first} {acts[0]}, warp {second} {acts[1]}, each at its own pace"
    if first == second:
        words = f"both in warp {first}, whose lanes need not run in step"
    parts = [svg.text(4, 12, f"{count} warps: {words}" if count > 1 else words)]
    for number in range(count):
        kind = "fail" if number == second else "cat0" if number == first else "hollow"
        parts.append(svg.rect(4 + number * 16.0, 20, 13, 18, kind, title=f"warp {number}"))
    return parts


def _linear(actor: Actor | None, block: tuple[int, int, int]) -> int | None:
    if actor is None or actor.thread is None:
        return None
    x, y, z = actor.thread
    return x + block[0] * (y + block[1] * z) if min(x, y, z) >= 0 else None


def _block(item: Evidence, review: Review) -> tuple[int, int, int] | None:
    """Return the size of the blocks that the kernel of the evidence was launched with."""
    for run in review.evaluation.runs:
        for launch in run.launches:
            if run.workload == item.workload and launch.kernel == item.kernel:
                return launch.block
    return None


def _who(item: Evidence) -> str:
    thread = item.actor.thread if item.actor else None
    return _name_thread(thread) if thread else "a thread"


def _say_other(item: Evidence) -> str:
    other = item.other_actor
    if other is None or other.thread is None:
        return "another thread"
    elsewhere = other.block is not None and other.block != (item.actor and item.actor.block)
    block = f" of block ({', '.join(map(str, other.block or ()))})" if elsewhere else ""
    return f"{_name_thread(other.thread)}{block}"


def _name_thread(thread: tuple[int, int, int]) -> str:
    return f"thread ({', '.join(map(str, thread))})"


def _waits(item: Evidence) -> Waiting:
    return item.details if isinstance(item.details, Waiting) else Waiting()


def _place(item: Evidence) -> int:
    return item.place.line if item.place else 0


def _line(item: Evidence) -> str:
    return _at(_place(item))


def _at(line: int) -> str:
    return f", line {line}" if line else ""


def _source(lines: Sequence[str], line: int) -> str:
    if not 1 <= line <= len(lines):
        return ""
    return svg.cut_words(" ".join(clean(lines[line - 1], 400).split()), _CODE)
