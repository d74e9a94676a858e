"""What wrong elements of a result were made of, against what the reference's depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.judge.boxes import extents, in_words, told_extents
from grader.judge.inputs import Array
from grader.judge.touched import touched_by_line
from grader.judge.way import Way, leaving_step, meets
from grader.records import Constant, Dependence, Evidence, Extent, Place, Slice
from grader.simulator.provenance import NOTHING, Flat, Lost, Origin, Reads, Tensor, Told

NEGLIGIBLE = 1e-12
"""Gradient, relative to the largest one, that counts as none."""
AGAIN = 1.2
"""Reads for each element from which on some are taken to count more than once."""
LEAST_READ = 0.4
"""Share of a tensor's elements from which a line is taken to be meant to read all of them."""
LUCKY = 0.1
"""Share of right elements up to which they may be right by chance: they say nothing then."""
MOST_ASKED = 4
"""Wrong elements that are asked about, and as many right ones."""


@dataclass(frozen=True)
class Asked:
    """An element of a result, and what the reference's depends on."""

    output: int
    index: tuple[int, ...]
    wrong: bool
    needs: Mapping[str, Flat]
    """Elements of each tensor whose change the reference's element feels, by the tensor's role."""
    way: Way


def chosen(mask: Array) -> list[tuple[int, bool]]:
    """Return flat indices of wrong elements and of right ones near them, with which is which."""
    wrong, right = np.flatnonzero(mask), np.flatnonzero(~mask)
    picked = [(int(one), True) for one in _spread(wrong)]
    if len(right) < LUCKY * mask.size:
        return picked
    near = {int(right[np.abs(right - one).argmin()]) for one, _ in picked if len(right)}
    return picked + [(one, False) for one in sorted(near | {int(i) for i in _spread(right)[:2]})]


def _spread(flat: Array) -> Array:
    if len(flat) <= MOST_ASKED:
        return flat
    return np.asarray(flat[np.linspace(0, len(flat) - 1, MOST_ASKED).astype(int)])


def needed(gradient: Array) -> Flat:
    """Return the flat indices at which a gradient is not zero."""
    size = np.abs(gradient.ravel())
    top = float(size.max(initial=0.0))
    if not np.isfinite(top) or top == 0:
        return NOTHING
    return np.flatnonzero(size > NEGLIGIBLE * top).astype(np.int64)


def evidence_of(told: Told, asked: Sequence[Asked], workload: str) -> tuple[Evidence, ...]:
    """Return what was touched, and how the wrong elements' dependences differ from the reference's."""
    touched = tuple(touched_by_line(told, workload))
    if told.unfollowed:
        return touched
    differences = tuple(_dependences(told, asked, workload))
    skipped = () if differences else tuple(_skipped(told, asked, workload))
    return (*touched, *differences, *skipped, *_slices(told, asked, workload))


# ---------------------------------------------------------------- dependences


@dataclass(frozen=True)
class _Difference:
    asked: Asked
    tensor: Tensor
    missing: Flat
    extra: Flat
    got: Flat
    reads: tuple[Reads, ...]
    origin: Origin | None = None


def _dependences(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    for tensor in told.tensors:
        differences = [
            difference
            for one, reads, origin in _paired(told, asked)
            if (difference := _difference(told, one, reads, origin, tensor)) is not None
        ]
        wrong = [one for one in differences if one.asked.wrong and len(one.missing)]
        # Where a right element misses the same, a choice between values leaves it out.
        if any(len(one.missing) for one in differences if not one.asked.wrong):
            continue
        extra_is_fine = any(len(one.extra) for one in differences if not one.asked.wrong)
        if wrong:
            yield _missing(told, max(wrong, key=lambda one: len(one.missing)), workload)
        elif (twice := _doubled(differences)) is not None:
            yield _counted_again(*twice, workload)
        else:
            more = [one for one in differences if one.asked.wrong and len(one.extra)]
            if more and not extra_is_fine and any(not one.asked.wrong for one in differences):
                yield _extra(max(more, key=lambda one: len(one.extra)), workload)


def _paired(
    told: Told, asked: Sequence[Asked]
) -> Iterator[tuple[Asked, tuple[Reads, ...], Origin | None]]:
    """Yield the elements with what they came from; with what all came from where torch made the results."""
    if told.of_results:
        for one, origin in zip(asked, told.origins, strict=False):
            yield one, origin.reads if origin else (), origin
        return
    pooled = tuple(reads for origin in told.origins if origin for reads in origin.reads)
    yield from ((one, pooled, None) for one in asked if one.wrong)


def _difference(
    told: Told, asked: Asked, given: tuple[Reads, ...], origin: Origin | None, tensor: Tensor
) -> _Difference | None:
    needs = asked.needs.get(tensor.role)
    if needs is None or (len(needs) and needs[-1] >= tensor.size):  # told otherwise than it is
        return None
    reads = tuple(one for one in given if told.tensors.index(tensor) in one.access.boxes)
    parts = [told.elements_of(one, tensor) for one in reads]
    got = np.unique(np.concatenate(parts)) if parts else NOTHING
    missing, extra = np.setdiff1d(needs, got), np.setdiff1d(got, needs)
    return _Difference(asked, tensor, missing, extra, got, reads, origin)


def _skipped(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    """Yield the lines that leave out some elements of a tensor of which other lines read all.

    The result is made of all of it, and one of its parts (a mean, a sum of squares) is not.
    """
    known = {role for one in asked for role, flat in one.needs.items() if len(flat)}
    needed_whole = known or {t.role for t in told.tensors if t.role.startswith("input")}
    for at, tensor in enumerate(told.tensors):
        loads = [
            a for a in told.accesses if a.what == "load" and a.boxes.get(at, (0,))[0] and a.place
        ]
        if tensor.role not in needed_whole or not loads:
            continue
        most = max(a.boxes[at][0] for a in loads) if known else tensor.size
        for access in loads:
            count, ranges = access.boxes[at]
            if not LEAST_READ * most <= count < most or access.place is None:
                continue
            box = told_extents(ranges, tensor)
            yield Evidence(
                kind="provenance",
                code="skipped",
                text=f"line {access.place.line} reads {count} of the {most} elements of {tensor.role} that other "
                f"lines read{': ' + in_words(box) if in_words(box) else ''}",
                place=access.place,
                workload=workload,
                details=Dependence(
                    element=asked[0].index,
                    tensor=tensor.role,
                    extents=box,
                    count=most - count,
                    expected=most,
                    read=True,
                ),
            )
            break


def _missing(told: Told, found: _Difference, workload: str) -> Evidence:
    """Say what a wrong element misses, where it was read last or where it would have to be."""
    tensor, missing = found.tensor, found.missing
    lost = _lost(told, tensor, missing)
    read = lost is not None or _read_by_any(told, tensor, missing)
    reader = _reader(told, found)
    box = extents(missing, tensor.shape)
    needs = len(found.asked.needs[tensor.role])
    where = in_words(box) or "all of it"
    element = list(found.asked.index)
    text = (
        f"element {element} of the result misses {len(missing)} of the {needs} elements of "
        f"{tensor.role} that it depends on: {where}"
    )
    if lost is not None and lost.place is not None:
        text += f"; they are read, and their values end at line {lost.place.line}"
        if lost.goes_on is not None and lost.goes_on.line != lost.place.line:
            text += f": line {lost.goes_on.line} goes on with others, and not with these"
    swapped = len(found.extra) > 0 and lost is None
    combined = _combined(found) if read and not swapped and lost is None else None
    if swapped:
        text += (
            f"; in their place it has {in_words(extents(found.extra, tensor.shape)) or 'others'}"
        )
    elif not read:
        text += "; no thread reads them"
    elif combined is not None:
        text += f"; they are read, and line {combined.line} computes this element without them"
    return _evidence(
        found,
        "lost" if lost or combined else "other-elements" if swapped else "missing",
        text,
        place=(lost.goes_on or lost.place) if lost is not None else combined or reader,
        related=tuple(p for p in (lost.place if lost else None, reader) if p is not None),
        workload=workload,
        box=box,
        count=len(missing),
        read=read,
        threads=lost.threads if lost is not None else (),
    )


def _doubled(differences: Sequence[_Difference]) -> tuple[_Difference, Reads] | None:
    """Return a line that brings the same elements of an input to a wrong element again, and to no right one.

    A weight may count in every turn of a recurrence; an input does once.
    """
    again = {
        (one.asked.wrong, reads.access.number): (one, reads)
        for one in differences
        for reads in one.reads
        if one.tensor.role.startswith("input") and reads.times > AGAIN * len(reads.elements) > AGAIN
    }
    right = {number for wrong, number in again if not wrong}
    return next((two for (wrong, n), two in again.items() if wrong and n not in right), None)


def _counted_again(found: _Difference, reads: Reads, workload: str) -> Evidence:
    line = reads.access.place.line if reads.access.place else 0
    return _evidence(
        found,
        "doubled",
        f"element {list(found.asked.index)} of the result takes {len(reads.elements)} elements of "
        f"{found.tensor.role} {reads.times} times in all through line {line}",
        place=reads.access.place,
        workload=workload,
        box=extents(found.got, found.tensor.shape),
        count=len(reads.elements),
        read=True,
    )


def _extra(found: _Difference, workload: str) -> Evidence:
    box = extents(found.extra, found.tensor.shape)
    most = max(found.reads, key=lambda reads: len(reads.elements))
    return _evidence(
        found,
        "extra",
        f"element {list(found.asked.index)} of the result depends on {len(found.extra)} elements of "
        f"{found.tensor.role} that it should not depend on: {in_words(box) or 'all of it'}",
        place=most.access.place,
        workload=workload,
        box=box,
        count=len(found.extra),
        read=True,
    )


def _evidence(
    found: _Difference,
    code: str,
    text: str,
    *,
    place: Place | None,
    workload: str,
    box: tuple[Extent, ...],
    count: int,
    read: bool,
    related: tuple[Place, ...] = (),
    threads: tuple[int, ...] = (),
) -> Evidence:
    """Return a difference as evidence: of how many elements (`count`), and in which box they lie."""
    return Evidence(
        kind="provenance",
        code=code,
        text=text,
        place=place,
        related=related,
        workload=workload,
        details=Dependence(
            element=found.asked.index,
            output=found.asked.output,
            tensor=found.tensor.role,
            extents=box,
            count=count,
            expected=len(found.asked.needs[found.tensor.role]),
            read=read,
            threads=threads,
        ),
    )


def _lost(told: Told, tensor: Tensor, missing: Flat) -> Lost | None:
    """Return the end of the reads of most of these elements, where they are read and reach no result."""
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


def _combined(found: _Difference) -> Place | None:
    """Return the first step that computes with floats on the way to the element, after what reads the input."""
    origin = found.origin
    readers = [reads.access.place.line for reads in found.reads if reads.access.place]
    if origin is None or not readers:
        return None
    lines = sorted((step.place for step in origin.computed), key=lambda place: place.line)
    return next((place for place in lines if place.line > min(readers)), None)


def _read_by_any(told: Told, tensor: Tensor, missing: Flat) -> bool:
    """Whether the boxes that are read hold the missing elements."""
    at = told.tensors.index(tensor)
    places = np.unravel_index(missing, tensor.shape) if tensor.shape else ()
    for access in told.accesses:
        count, ranges = access.boxes.get(at, (0, ()))
        if access.what != "load" or not count:
            continue
        inside = np.ones(len(missing), bool)
        for indices, (first, last, step, _) in zip(places, ranges, strict=False):
            inside &= (indices >= first) & (indices <= last)
            inside &= (indices - first) % step == 0 if step else True
        if inside.mean() > 0.5:
            return True
    return False


def _reader(told: Told, found: _Difference) -> Place | None:
    """Return the line that brings most of the tensor to the element, or else reads most of it."""
    if found.reads:
        return max(found.reads, key=lambda reads: len(reads.elements)).access.place
    at = told.tensors.index(found.tensor)
    readers = [a for a in told.accesses if a.what == "load" and a.boxes.get(at, (0,))[0]]
    stores = [a for a in told.accesses if a.what != "load" and a.place is not None]
    best = max(readers, key=lambda a: a.boxes[at][0]) if readers else stores[-1] if stores else None
    return best.place if best is not None else None


# ---------------------------------------------------------------- values


def _slices(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    """Yield what made the first wrong element of each result."""
    done = set()
    for one, origin in zip(asked, told.origins, strict=False):
        if not one.wrong or origin is None or one.output in done:
            continue
        done.add(one.output)
        stored = origin.stored[-1] if origin.stored else 0
        computed = tuple(sorted({step.place.line for step in origin.computed}))
        lines = ", ".join(map(str, computed))
        leaves = leaving_step(origin.steps, one.way)
        yield Evidence(
            kind="provenance",
            code="slice",
            text=f"element {list(one.index)} of the result is computed in line{'s' * (len(computed) > 1)} "
            f"{lines or 'no'} and stored in line {stored}",
            place=leaves.place if leaves else None,
            workload=workload,
            details=Slice(
                element=one.index,
                output=one.output,
                computed=computed,
                stored=stored,
                right=tuple(sorted({s.place.line for s in origin.computed if meets(s, one.way)})),
                constants=tuple(
                    Constant(line=at, used=used, value=value)
                    for at, used, value in origin.constants
                ),
            ),
        )
