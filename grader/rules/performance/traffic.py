"""How the warps of a walk touch global memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grader.records import Evidence
from grader.rules.rule import Context
from grader.rules.walks import Case
from grader.source.flow import Access
from grader.source.flow.values import SIZES

SECTOR = 32
"""Bytes that memory moves at least."""


@dataclass(frozen=True)
class Reach:
    """One access as the first active warp makes it."""

    access: Access
    lanes: int
    stride: int
    """Elements between neighbouring lanes; 0 where they are not evenly spaced."""
    sectors: int
    ideal: int
    turn: int
    """Elements by which a thread moves on from one turn of its loop to the next; 0: unknown."""


def reaches(case: Case) -> Iterator[Reach]:
    """Yield the accesses of a walk with known addresses, each place once."""
    seen: set[int] = set()
    second = {
        (a.node.id, a.loops[-1][0]): a
        for a in case.walk.accesses
        if a.loops and a.loops[-1][1] == 1
    }
    for access in case.walk.accesses:
        if access.node.id in seen or access.offsets is None or access.uniform:
            continue
        warp = np.flatnonzero(access.mask)
        warp = warp[(warp >> 5) == (warp[0] >> 5)] if len(warp) else warp
        if len(warp) < 8:
            continue
        seen.add(access.node.id)
        yield _reach(
            access, warp, second.get((access.node.id, access.loops[-1][0] if access.loops else 0))
        )


def _reach(access: Access, warp: np.ndarray, later: Access | None) -> Reach:
    offsets = access.offsets[warp] if access.offsets is not None else np.zeros(len(warp), np.int64)
    size = SIZES.get(access.region.type, 4)
    steps = np.diff(offsets)
    even = bool(len(steps)) and bool((steps == steps[0]).all())
    first = offsets * size // SECTOR
    last = (offsets * size + size * access.scale - 1) // SECTOR
    sectors = len(np.unique(np.concatenate([first, last])))
    ideal = max(1, -(-len(warp) * size * access.scale // SECTOR))
    turn = 0
    if later is not None and later.offsets is not None and access.offsets is not None:
        turn = int(later.offsets[warp[0]] - access.offsets[warp[0]])
    return Reach(access, len(warp), int(steps[0]) if even else 0, sectors, ideal, turn)


def counted(context: Context, line: int) -> tuple[Evidence, ...]:
    """Return what the simulator counted at a line, as evidence."""
    for count in context.counts:
        if count.line == line and count.requests and count.sectors > count.ideal_sectors:
            per, best = count.sectors / count.requests, count.ideal_sectors / count.requests
            text = f"{per:.1f} sectors of 32 bytes for each warp access, where {best:.1f} would do"
            data = {
                "sectors": count.sectors,
                "ideal": count.ideal_sectors,
                "requests": count.requests,
            }
            return (Evidence(kind="simulator", code="sectors", text=text, data=data),)
    return ()
