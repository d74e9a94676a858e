"""Accesses of a launch's last block that go past the end of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grader.records import Context
from grader.source import Source
from grader.source.analysis.host_code import checked, origin
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access, Walk


@dataclass(frozen=True)
class Overrun:
    """A kernel whose last block runs over, with the accesses that do and the first element past the end of each."""

    case: Case
    last: Walk
    accesses: tuple[tuple[Access, int], ...]

    @property
    def lines(self) -> set[int]:
        """The lines of the accesses."""
        return {self.case.line(access.node) for access, _ in self.accesses}


def overruns(source: Source, context: Context) -> Iterator[Overrun]:
    """Yield one overrun of each kernel that has any."""
    told: set[str] = set()
    for case in cases(source, context):
        if case.kernel in told or case.walk.stopped:
            continue
        if not case.sizes.real and not any(_linear(case.walk, a) for a in case.walk.accesses):
            continue
        last = case.flow.last_block(case.walk) or case.walk
        overs = ((access, _overrun(case, last, access)) for access in last.accesses)
        past = tuple((access, over) for access, over in overs if over is not None)
        if past:
            told.add(case.kernel)
            yield Overrun(case, last, past)


def _overrun(case: Case, last: Walk, access: Access) -> int | None:
    """Return the first element past the end that an access touches."""
    tensor = access.region.tensor
    numel = tensor.numel if tensor is not None else None
    if numel is None or access.offsets is None or not access.sure or tensor is None:
        return None
    offsets = access.offsets[access.mask]
    if not len(offsets):
        return None
    top = int(offsets.max()) + access.scale - 1
    if top < numel and int(offsets.min()) >= 0:
        return None
    if case.sizes.complete and not (origin(tensor) or tensor).guessed:
        return top if top >= numel else int(offsets.min())
    linear = _linear(last, access)
    return (
        top if linear and top >= numel and not checked(case.launch.host, remainder=True) else None
    )


def _linear(last: Walk, access: Access) -> bool:
    """Whether an access is at the thread's number in the grid: what every kernel has to guard."""
    if access.offsets is None or access.scale != 1 or not bool(access.mask.all()) or access.loops:
        return False
    expected = last.block_index[0] * last.threads + np.arange(last.threads)
    return bool((access.offsets == expected).all())
