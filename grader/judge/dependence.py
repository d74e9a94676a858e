"""Evidence on the dependences of wrong elements of a result, against those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from grader.judge.asked import Asked
from grader.judge.boxes import (
    against,
    element_in_words,
    extents,
    in_words,
)
from grader.judge.difference import (
    Difference,
    combining_step,
    component,
    differences,
    doubled_reads,
    lost_part,
    lost_reads,
    read_there,
    reader,
    short_lines,
    stored_elsewhere,
    taken_for_others,
    taken_over,
    takes_those_around,
)
from grader.judge.slices import slices_of
from grader.judge.touched import touched_by_line
from grader.judge.untouched import skipped_elements, unstored_elements
from grader.records import Dependence, Evidence, Place, Walk
from grader.simulator.provenance import Flat, Lost, Reads, Told

BESIDE_OTHERS = frozenset(("doubled", "extra"))
"""Codes of evidence that counts only where no other is there."""


def evidence_of(told: Told, asked: Sequence[Asked], workload: str) -> tuple[Evidence, ...]:
    """Return evidence of the touched memory, and of differences between the wrong elements' dependences and the reference's."""
    touched = tuple(touched_by_line(told, workload))
    if told.unfollowed:
        return touched
    every = tuple(_dependences(told, asked, workload))
    # What comes too often, or too much, says little beside what is missing: behind a mean, each element comes by all.
    found = tuple(one for one in every if one.code not in BESIDE_OTHERS) or every
    found = found or tuple(unstored_elements(told, asked, workload))
    skipped = () if found else tuple(skipped_elements(told, asked, workload))
    whole = not found and not skipped and any(len(n) for one in asked for n in one.needs.values())
    return (*touched, *found, *skipped, *slices_of(told, asked, workload, whole=whole))


def _dependences(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    every = [differences(told, asked, tensor) for tensor in told.tensors]
    whole = tuple(sorted({line for found in every for line in _lines_of_whole_loads(found)}))
    for found in every:
        right = [one for one in found if not one.asked.wrong]
        wrong = [one for one in found if one.asked.wrong and len(one.missing)]
        # Where right elements miss the same inputs, a selection between values skips them.
        if _most(right, lambda one: one.missing):
            continue
        choice = _most(right, lambda one: one.extra)
        if wrong:
            worst = max(wrong, key=lambda one: (one.walk != "", one.displaced, len(one.missing)))
            yield _missing_evidence(
                told,
                worst,
                workload,
                whole=whole,
                choice=choice,
                stored=stored_elsewhere(wrong),
                others=taken_for_others(told, worst, found),
                exchanged=worst.asked.exchanged
                or any(np.array_equal(one.needs, worst.got) for one in found),
            )
        elif (short := _short(told, found)) is not None:
            yield _missing_through(*short, workload)
        elif (part := lost_part(told, found)) is not None:
            yield _lost_part(*part, workload)
        elif (twice := doubled_reads(told, found)) is not None:
            yield _counted_again(*twice, workload)
        else:
            # Extra dependences of some elements don't explain wrong elements without any.
            ends = [one for one in found if one.asked.wrong]
            more = [one for one in ends if len(one.extra)]
            if _most(ends, lambda one: one.extra) and not choice and right:
                yield _extra(max(more, key=lambda one: len(one.extra)), workload)


def _most(some: Sequence[Difference], part: Callable[[Difference], Flat]) -> bool:
    """Whether most of these elements have a difference; one may be right, or wrong, by chance."""
    return 2 * sum(len(part(one)) > 0 for one in some) > len(some)


def _lines_of_whole_loads(found: Sequence[Difference]) -> Iterator[int]:
    """Yield the lines that load everything needed of a tensor for every wrong element."""
    wrong = [one for one in found if one.asked.wrong]
    if not wrong or any(len(one.missing) or not len(one.needs) for one in wrong):
        return
    yield from (r.access.place.line for one in wrong for r in one.reads if r.access.place)


@dataclass(frozen=True)
class _Fate:
    """The fate of the elements that a wrong one misses."""

    kind: str
    words: str
    place: Place | None
    walk: Walk = ""


def _missing_evidence(
    told: Told,
    found: Difference,
    workload: str,
    *,
    whole: tuple[int, ...],
    choice: bool,
    stored: Place | None,
    others: Place | None,
    exchanged: bool,
) -> Evidence:
    """Return evidence of the elements that a wrong one misses, at their last read or at the line that should read them.

    `exchanged`: it has the inputs of another element, so the index that selects them is computed outside the loops.
    """
    tensor, missing = found.tensor, found.missing
    end, by = lost_reads(told, tensor, missing), reader(told, found)
    read = end is not None or read_there(told, found, by)
    come = len(found.extra) and (not choice or found.walk == "fixed" or found.displaced)
    if end is not None:
        fate = _values_end(found, end, by)
    elif found.origin is not None and come:
        fate = _others_come(told, found, stored, by)
    elif read:
        fate = _gone_on_without(told, found, others, by)
    else:
        fate = _Fate("missing", "; no thread reads them", by)
    which = in_words(extents(missing, tensor.shape)) or "all"
    shown = f"misses {which} of {tensor.role} ({_of(missing, found)})"
    if fate.kind == "other-elements":
        shown = f"takes {_say_exchanged(found)}"
    return _evidence(
        found,
        fate.kind,
        f"{element_in_words(found.asked.index)} {shown}{fate.words}",
        place=fate.place,
        related=tuple(p for p in (end.place if end else None, by) if p is not None),
        workload=workload,
        of=missing,
        read=read,
        threads=end.threads if end is not None else (),
        whole=whole,
        stored=found.origin is not None or not told.of_results,
        walk=fate.walk or ("exchanged" if exchanged else ""),
    )


def _values_end(found: Difference, end: Lost, by: Place | None) -> _Fate:
    """Return words on the line at which the missing values end, and on the values used instead."""
    if end.place is None:
        return _Fate("lost", "", by)
    part = component(found, end)
    goes_on = end.goes_on if end.goes_on and end.goes_on.line >= end.place.line else None
    words = f"; they are read, and their values end at line {end.place.line}"
    if part is not None:
        words += f": line {part.line} takes others of the same vector in their place"
    elif goes_on is not None and goes_on.line != end.place.line:
        words += f": line {goes_on.line} goes on with other values"
    return _Fate("lost", words, part or goes_on or end.place)


def _others_come(told: Told, found: Difference, stored: Place | None, by: Place | None) -> _Fate:
    """Return words on the extra elements and the line that brings them: a load, or a store to another place."""
    if over := taken_over(told, found):
        words = f", which line {over.place.line} takes from memory"
        return _Fate("other-elements", words, over.place)
    if stored is None:
        return _Fate("other-elements", "", by)
    words = f": the blocks read one after another, and line {stored.line} does not store so"
    return _Fate("other-elements", words, stored, walk="stored")


def _say_exchanged(found: Difference) -> str:
    """Return words on the elements that a wrong one has in place of others."""
    had, wanted = (extents(some, found.tensor.shape) for some in (found.extra, found.missing))
    has, needs = against(had, wanted)
    return f"{has} of {found.tensor.role} in the place of {needs}"


def _gone_on_without(
    told: Told, found: Difference, others: Place | None, by: Place | None
) -> _Fate:
    """Return words on the line that drops elements which were read, where known."""
    between = takes_those_around(told, found) if found.holes else None
    line = between or (others if others and not found.holes else combining_step(found))
    if line is None:
        return _Fate("missing", "", by)
    words = f"; they are read, and line {line.line} leaves them out of this element"
    return _Fate("lost", words, line, walk="between" if between else "")


def _short(told: Told, found: Sequence[Difference]) -> tuple[Difference, Place] | None:
    """Return a line that loads a part of the needed elements, with the line that takes the rest from memory for other elements."""
    every = list(short_lines(found, told))
    if _most([one for one in found if not one.asked.wrong], lambda one: _short_of(every, one)):
        return None
    for one in every:
        place = taken_for_others(told, one, every) if one.asked.wrong else None
        if place is not None:
            return one, place
    return None


def _short_of(every: Sequence[Difference], found: Difference) -> Flat:
    return next((one.missing for one in every if one.asked is found.asked), found.missing)


def _missing_through(found: Difference, place: Place, workload: str) -> Evidence:
    by = found.reads[0].access.place
    return _evidence(
        found,
        "lost",
        f"line {by.line if by else 0} brings {len(found.got)} of the {len(found.needs)} elements of "
        f"{found.tensor.role} that {element_in_words(found.asked.index)} depends on; line {place.line} takes "
        "the others from memory for other elements",
        place=place,
        related=(by,) if by else (),
        workload=workload,
        of=found.missing,
        read=True,
    )


def _of(some: Flat, found: Difference) -> str:
    count = len(found.needs)
    if len(some) == count:
        return f"all {count} elements that it depends on" if count > 1 else "what it depends on"
    return f"{len(some)} of the {count} elements that it depends on"


def _lost_part(found: Difference, end: Lost, workload: str) -> Evidence:
    line = end.reads.access.place.line if end.reads.access.place else 0
    at = end.place.line if end.place else 0
    return _evidence(
        found,
        "lost",
        f"what line {line} reads of {found.tensor.role} for {element_in_words(found.asked.index)} ends "
        f"in part at line {at}: of {len(end.reads.elements)} elements nothing goes on from there",
        place=end.goes_on or end.place,
        related=tuple(p for p in (end.place, end.reads.access.place) if p is not None),
        workload=workload,
        of=found.needs,
        count=len(end.reads.elements),
        read=True,
        threads=end.threads,
    )


def _counted_again(found: Difference, reads: Reads, workload: str) -> Evidence:
    line = reads.access.place.line if reads.access.place else 0
    return _evidence(
        found,
        "doubled",
        f"{element_in_words(found.asked.index)} takes {len(reads.elements)} elements of "
        f"{found.tensor.role} {reads.times} times in all through line {line}",
        place=reads.access.place,
        workload=workload,
        of=found.got,
        count=len(reads.elements),
        read=True,
    )


def _extra(found: Difference, workload: str) -> Evidence:
    box = in_words(extents(found.extra, found.tensor.shape))
    most = max(found.reads, key=lambda reads: len(reads.elements))
    return _evidence(
        found,
        "extra",
        f"{element_in_words(found.asked.index)} depends on {len(found.extra)} elements of "
        f"{found.tensor.role} that it should not depend on: {box or 'all of it'}",
        place=most.access.place,
        workload=workload,
        of=found.extra,
        read=True,
    )


def _evidence(
    found: Difference,
    code: str,
    text: str,
    *,
    place: Place | None,
    workload: str,
    of: Flat,
    read: bool,
    count: int = 0,
    related: tuple[Place, ...] = (),
    threads: tuple[int, ...] = (),
    whole: tuple[int, ...] = (),
    stored: bool = True,
    walk: Walk = "",
) -> Evidence:
    """Return a difference as evidence on the elements `of`, with their number if it is given."""
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
            extents=extents(of, found.tensor.shape),
            count=count or len(of),
            expected=len(found.needs),
            read=read,
            threads=threads,
            walk=walk or (found.walk if code == "other-elements" else ""),
            along=found.along,
            holes=found.holes,
            whole=whole,
            stored=stored,
        ),
    )
