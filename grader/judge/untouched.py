"""Untouched elements: results that no thread stores, and parts of an input that a line doesn't read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.judge.asked import Asked
from grader.judge.boxes import covers, element_in_words, in_words, told_extents
from grader.records import Dependence, Evidence, Extent
from grader.simulator.provenance import Told

LEAST_READ = 0.4
"""Share of a tensor's elements from which on a line is assumed to be meant to read all of them."""


def unstored_elements(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    """Yield a wrong element that no thread stores, where threads store others of its result."""
    for at, tensor in enumerate(told.tensors):
        stores = [a for a in told.accesses if a.what != "load" and a.boxes.get(at, (0,))[0]]
        wrong = [one for one in asked if one.wrong and tensor.role == f"output {one.output + 1}"]
        left = [one for one in wrong if not any(covers(a.boxes[at][1], one.index) for a in stores)]
        if not stores or not left:
            continue
        most = max(stores, key=lambda access: access.boxes[at][0])
        count, ranges = most.boxes[at]
        line = most.place.line if most.place else 0
        yield Evidence(
            kind="provenance",
            code="missing",
            text=f"no thread stores {element_in_words(left[0].index)}: line {line} stores {count} of its "
            f"{tensor.size} elements",
            place=most.place,
            workload=workload,
            details=Dependence(
                element=left[0].index,
                output=left[0].output,
                tensor=tensor.role,
                extents=told_extents(ranges, tensor),
                count=tensor.size - count,
                expected=tensor.size,
                stored=False,
            ),
        )
        return


def skipped_elements(told: Told, asked: Sequence[Asked], workload: str) -> Iterator[Evidence]:
    """Yield the lines that leave out some elements of a tensor of which other lines read all.

    The result depends on all elements, but one intermediate value (a mean, a sum of squares) doesn't.
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
            box: tuple[Extent, ...] = told_extents(ranges, tensor)
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
