"""Evidence of the parts of each tensor that a run touched, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from grader.judge.boxes import in_words, told_extents
from grader.records import Evidence, Touched
from grader.simulator.provenance import Told


def touched_by_line(told: Told, workload: str) -> Iterator[Evidence]:
    """Yield the part of a tensor that each line touched, once."""
    said = set()
    for access in told.accesses:
        for at, (count, ranges) in access.boxes.items():
            tensor = told.tensors[at]
            if not tensor.role or not count or access.place is None:
                continue
            key = (at, access.place.line, access.what, access.width)
            if key in said:
                continue
            said.add(key)
            details = Touched(
                tensor=tensor.role,
                dtype=tensor.dtype,
                item=tensor.item,
                access=access.what,
                width=access.width,
                extents=told_extents(ranges, tensor),
                elements=count,
                size=tensor.size,
                twice=access.twice,
                blocks=access.blocks,
                times=access.times,
            )
            verb = {"load": "reads", "store": "writes", "atomic": "updates"}[access.what]
            box = in_words(details.extents)
            part = f"{count} of {tensor.size} elements" if count < tensor.size else "all"
            text = f"line {access.place.line} {verb} {part} of {tensor.role}" + (
                f": {box}" if box else ""
            )
            yield Evidence(
                kind="provenance",
                code="touched",
                text=text,
                place=access.place,
                workload=workload,
                kernel=access.kernel,
                details=details,
            )
