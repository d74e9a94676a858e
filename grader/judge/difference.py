"""Differences between the dependences of a result's element and those of the reference's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grader.judge.asked import Asked
from grader.records import Place, Walk
from grader.simulator.provenance import NOTHING, Flat, Lost, Origin, Reads, Step, Tensor, Told

AGAIN = 1.2
"""Reads of each element from which on it is taken to count more than once."""


@dataclass(frozen=True)
class Difference:
    """The elements of one tensor that a result's element takes, against those that it needs."""

    asked: Asked
    tensor: Tensor
    got: Flat
    reads: tuple[Reads, ...]
    origin: Origin | None = None

    @property
    def needs(self) -> Flat:
        """Elements that the reference's element depends on."""
        return self.asked.needs[self.tensor.role]

    @cached_property
    def missing(self) -> Flat:
        """Needed elements that it does not take."""
        return np.setdiff1d(self.needs, self.got)

    @cached_property
    def extra(self) -> Flat:
        """Elements that it takes and does not need."""
        return np.setdiff1d(self.got, self.needs)

    @property
    def along(self) -> tuple[int, int]:
        """Return the number of dims with several needed elements, and the only one that falls short, counted from the last."""
        if not len(self.missing) or not self.tensor.shape:
            return 0, 0
        lost, meant = (
            np.unravel_index(one, self.tensor.shape) for one in (self.missing, self.needs)
        )
        wide = [d for d in range(len(meant)) if len(np.unique(meant[d])) > 1]
        short = [d for d in wide if len(np.unique(lost[d])) < len(np.unique(meant[d]))]
        return (len(wide) - 1 - wide.index(short[0]), len(wide)) if len(short) == 1 else (0, 0)

    @property
    def holes(self) -> bool:
        """Whether missing elements lie among those that it has."""
        if not len(self.missing) or not len(self.got):
            return False
        low, high = int(self.missing[0]), int(self.missing[-1])
        return bool(np.any((self.got > low) & (self.got < high)))

    @property
    def displaced(self) -> bool:
        """Whether no loop that ends early leaves out what it misses.

        That lies before what it has, farther behind it than that is long, or beside it where it stays in one place.
        """
        if not len(self.got) or not self.tensor.shape:
            return False
        lost, had = (np.unravel_index(one, self.tensor.shape) for one in (self.missing, self.got))
        ends = [
            (at, int(there.min()), int(there.max())) for at, there in zip(lost, had, strict=True)
        ]
        return any(
            np.any(at < low) or np.any(at > (high if low == high else 2 * high - low + 1))
            for at, low, high in ends
        )

    @property
    def walk(self) -> Walk:
        """How the elements lie that it has in place of others.

        `moved`: where they should, all moved alike; `fixed`: along what is wrong it stays in one place.
        """
        if not len(self.got) or not self.tensor.shape:
            return ""
        lost, had, meant = (
            np.unravel_index(one, self.tensor.shape) for one in (self.missing, self.got, self.needs)
        )
        wrong = [d for d in range(len(had)) if np.isin(lost[d], had[d], invert=True).any()]
        if wrong and all(len(np.unique(at[d])) == 1 for d in wrong for at in (had, meant)):
            return "fixed"
        alike = len(self.got) == len(self.needs) > 1 and len(np.unique(self.got - self.needs)) == 1
        return "moved" if alike else ""


def pairs(
    told: Told, asked: Sequence[Asked]
) -> Iterator[tuple[Asked, tuple[Reads, ...], Origin | None]]:
    """Yield the elements with their sources; with all sources together where torch computed the results."""
    if told.of_results:
        for one, origin in zip(asked, told.origins, strict=False):
            yield one, origin.reads if origin else (), origin
        return
    pooled = tuple(reads for origin in told.origins if origin for reads in origin.reads)
    yield from ((one, pooled, None) for one in asked if one.wrong and pooled)


def differences(told: Told, asked: Sequence[Asked], tensor: Tensor) -> list[Difference]:
    """Return the elements of a tensor that each result's element takes, for tensors with known gradients.

    Nothing where no kernel reads the tensor but one reads memory that torch filled, which may be a copy.
    """
    found = []
    touched = any(told.box(a, tensor)[0] for a in told.accesses if a.what == "load")
    for one, given, origin in pairs(told, asked):
        needs = one.needs.get(tensor.role)
        if needs is None or (len(needs) and needs[-1] >= tensor.size):  # reported wrongly
            continue
        if not touched and any(not read.access.boxes for read in given):
            continue
        reads = tuple(read for read in given if told.tensors.index(tensor) in read.access.boxes)
        parts = [told.elements_of(read, tensor) for read in reads]
        got = np.unique(np.concatenate(parts)) if parts else NOTHING
        found.append(Difference(one, tensor, got, reads, origin))
    return found


def lost_reads(told: Told, tensor: Tensor, missing: Flat) -> Lost | None:
    """Return the line at which reads of most of these elements end, where they are read and reach no result."""
    ends: dict[int, tuple[Lost, set[int]]] = {}
    for one in told.lost:
        if one.what in {"compare", "control"} or one.place is None:
            continue
        if told.tensors.index(tensor) not in one.reads.access.boxes:
            continue
        common = np.intersect1d(told.elements_of(one.reads, tensor), missing)
        first, known = ends.setdefault(one.place.line, (one, set()))
        known.update(common.tolist())
        if first.goes_on is None and one.goes_on is not None:
            ends[one.place.line] = (one, known)
    most = max(ends.values(), key=lambda end: len(end[1]), default=None)
    return most[0] if most is not None and 2 * len(most[1]) > len(missing) else None


def lost_part(told: Told, found: Sequence[Difference]) -> tuple[Difference, Lost] | None:
    """Return the end of a part of what a line reads for a wrong element, where another line brings the same elements.

    A sum over a part of a row looks so, where the row's maximum is over all of it.
    """
    for one in found:
        brought = [read for read in one.reads if len(read.elements) > 1]
        for end in told.lost if one.asked.wrong else ():
            arrives = any(read.access is end.reads.access for read in brought)
            if end.what in {"compare", "control"} or end.place is None or not arrives:
                continue
            if np.isin(told.elements_of(end.reads, one.tensor), one.needs).any():
                return one, end
    return None


def taken_for_others(told: Told, found: Difference, every: Sequence[Difference]) -> Place | None:
    """Return the last line that loads, for other elements, the intermediate values that this one misses."""
    steps = found.origin.steps if found.origin is not None else ()
    for step in reversed([one for one in steps if any(one.number in r.over for r in found.reads)]):
        for other in every:
            through = other.origin.steps if other.origin is not None and other is not found else ()
            same = {one.number for one in through if one.place == step.place}
            brought = [told.elements_of(r, found.tensor) for r in other.reads if same & r.over]
            if any(np.isin(found.missing, one).any() for one in brought):
                return step.place
    return None


def short_lines(found: Sequence[Difference], told: Told) -> Iterator[Difference]:
    """Yield wrong elements as one line sees them that brings a part, where other lines bring all that is needed.

    A sum over a part of a row looks so, where the row's maximum is over all of it.
    """
    for one in found:
        for line in {r.access.place.line for r in one.reads if r.access.place}:
            reads = tuple(r for r in one.reads if r.access.place and r.access.place.line == line)
            parts = [told.elements_of(read, one.tensor) for read in reads]
            alone = replace(one, reads=reads, got=np.unique(np.concatenate(parts)))
            if len(alone.got) > 1 and len(alone.missing) and not len(alone.extra):
                yield alone


def combining_step(found: Difference) -> Place | None:
    """Return the first step that computes with floats on the way to the element, after what reads the input.

    The last one that does, where all of them stand before. A thread of a CUDA kernel that takes nothing over
    from others has not read what is missing.
    """
    places = [reads.access.place for reads in found.reads if reads.access.place]
    readers = [place.line for place in places]
    alone = not any(reads.over for reads in found.reads)
    if found.origin is None or not readers or (alone and places[0].language == "cuda"):
        return None
    lines = sorted((step.place for step in found.origin.computed), key=lambda place: place.line)
    over = [s.place for s in found.origin.steps if any(s.number in r.over for r in found.reads)]
    if found.holes and over and over[-1] != over[0]:  # combined in steps, some of which are missing
        return next(place for place in reversed(over) if place != over[-1])
    return next(
        (place for place in lines if place.line > min(readers)), lines[-1] if lines else None
    )


def takes_those_around(told: Told, found: Difference) -> Place | None:
    """Return the line that takes over from memory the neighbours of all that is missing, where others take over more."""
    known: dict[int, tuple[int, Place]] = {}
    above = np.searchsorted(found.got, found.missing)
    for step in found.origin.steps if found.origin is not None else ():
        parts = [told.elements_of(r, found.tensor) for r in found.reads if step.number in r.over]
        over = np.isin(found.got, np.concatenate(parts) if parts else NOTHING)
        ends = np.concatenate([[False], over, [False]])
        if len(found.missing) and np.all(ends[above] | ends[above + 1]):
            known[step.place.line] = (int(over.sum()), step.place)
    sizes = [size for size, _ in known.values()]
    fewest = [place for size, place in known.values() if size == min(sizes)]
    return fewest[0] if len(fewest) == 1 and len(sizes) > 1 else None


def component(found: Difference, end: Lost) -> Place | None:
    """Return the line that computes an element from another component of the vector load that has its own."""
    same = any(read.access is end.reads.access for read in found.reads)
    computed = found.origin.computed if found.origin is not None and same else ()
    return computed[0].call if computed and len(found.extra) == len(found.missing) else None


def stored_elsewhere(wrong: Sequence[Difference]) -> Place | None:
    """Return the storing line, where the blocks read consecutive elements and do not store consecutively."""
    known = [
        (one.origin.block, int(one.got[0]), one) for one in wrong if one.origin and len(one.got)
    ]
    known.sort(key=lambda one: one[:2])
    reads = [first for _, first, _ in known]
    stores = [one.asked.index for *_, one in known]
    if (
        len({block for block, *_ in known}) < 2
        or reads != sorted(reads)
        or stores == sorted(stores)
    ):
        return None
    ends = known[0][2].origin
    return ends.steps[-1].place if ends and ends.steps else None


def taken_over(told: Told, found: Difference) -> Step | None:
    """Return the last step on the way that takes foreign elements over from memory which threads wrote.

    The threads that wrote them read all of the tensor: they did as they should. What the element's own thread
    reads is right then.
    """
    at = told.tensors.index(found.tensor)
    partly = any(read.access.boxes[at][0] < found.tensor.size for read in found.reads)
    own = [told.elements_of(read, found.tensor) for read in found.reads if not read.over]
    if found.origin is None or partly or any(np.isin(one, found.extra).any() for one in own):
        return None
    for step in reversed(found.origin.steps):
        over = [told.elements_of(r, found.tensor) for r in found.reads if step.number in r.over]
        every = np.unique(np.concatenate(over)) if over else NOTHING
        if len(every) and 2 * len(np.intersect1d(every, found.extra)) > len(every):
            return step
    return None


def read_there(told: Told, found: Difference, by: Place | None) -> bool:
    """Whether the line that reads the other elements also reads the missing ones; where no line reads any, whether any line does."""
    tensor, missing = found.tensor, found.missing
    at = told.tensors.index(tensor)
    places = np.unravel_index(missing, tensor.shape) if tensor.shape else ()
    for access in told.accesses:
        count, ranges = access.boxes.get(at, (0, ()))
        if access.what != "load" or not count or (found.reads and access.place != by):
            continue
        if count < math.prod(number for *_, number in ranges):  # not all elements in the box
            if count + len(missing) > tensor.size:
                return True
            continue
        inside = np.ones(len(missing), bool)
        for indices, (first, last, step, _) in zip(places, ranges, strict=False):
            inside &= (indices >= first) & (indices <= last)
            inside &= (indices - first) % step == 0 if step else True
        if inside.mean() > 0.5:
            return True
    return False


def reader(told: Told, found: Difference) -> Place | None:
    """Return the line that loads most of the tensor for the element, or else reads most of it."""
    if found.reads:
        return max(found.reads, key=lambda reads: len(reads.elements)).access.place
    at = told.tensors.index(found.tensor)
    readers = [a for a in told.accesses if a.what == "load" and a.boxes.get(at, (0,))[0]]
    stores = [a for a in told.accesses if a.what != "load" and a.place is not None]
    best = max(readers, key=lambda a: a.boxes[at][0]) if readers else stores[-1] if stores else None
    return best.place if best is not None else None


def doubled_reads(told: Told, found: Sequence[Difference]) -> tuple[Difference, Reads] | None:
    """Return a line that brings the same elements of an input to a wrong element again, and to no right one.

    A weight may count in every turn of a recurrence; an input does once, or once for each of another's elements
    that it depends on (a scale of a group), or for each of another's rows or columns (a product of matrices).
    """
    sizes = {
        (one.tensor.role, size)
        for one in found
        for tensor in told.tensors
        if tensor.role != one.tensor.role and not tensor.role.startswith("output")
        for size in tensor.shape
    }
    again = {
        (one.asked.wrong, reads.access.number): (one, reads)
        for one in found
        for reads in one.reads
        if one.tensor.role.startswith("input")
        and (reads.over or one.origin is None)  # a thread may reload a value
        and reads.times > AGAIN * len(reads.elements) > AGAIN
        and reads.times not in {len(needs) for needs in one.asked.needs.values()}
        and (one.tensor.role, reads.times / len(reads.elements)) not in sizes
    }
    right = {number for wrong, number in again if not wrong}
    return next((two for (wrong, n), two in again.items() if wrong and n not in right), None)
