"""How the warps of a walk touch global memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from grader.records import AccessShape, Confidence, Context, Evidence, Place, SectorCounts
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access
from grader.source.flow.scalar_types import SIZES

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
            text = f"{per:.1f} sectors of 32 bytes for each warp access, where {best:.1f} would do, at the sizes that ran"
            counts = SectorCounts(
                sectors=count.sectors, ideal=count.ideal_sectors, requests=count.requests
            )
            return (Evidence(kind="simulator", code="sectors", text=text, details=counts),)
    return ()


@dataclass(frozen=True)
class Far:
    """The accesses of one kernel that reach far from lane to lane."""

    case: Case
    first: Reach
    line: int
    others: tuple[int, ...]
    """Further lines, in order."""
    proof: tuple[Evidence, ...]

    @property
    def place(self) -> Place:
        """Return the first access's place."""
        return self.case.place(self.first.access.node)

    @property
    def stride(self) -> str:
        """Return the distance from lane to lane as words; no number where sizes were guessed."""
        return f"{self.first.stride} elements" if self.case.sizes.complete else "many elements"

    @property
    def moved_sectors(self) -> str:
        """Return what a warp moves as words; no number where sizes were guessed."""
        if not self.case.sizes.complete:
            return "many more 32-byte sectors than it needs"
        return f"{self.first.sectors} 32-byte sectors where {self.first.ideal} would do"

    @property
    def more(self) -> str:
        """Return the further lines as words, or nothing."""
        return ", ".join(str(number) for number in self.others)

    @property
    def confidence(self) -> Confidence:
        """Return what the simulator's counts make of it."""
        return "proven" if self.proof else "likely"

    @property
    def access(self) -> AccessShape:
        """Return how the lanes lie apart, and where."""
        return AccessShape(lines=(self.line, *self.others), stride=abs(self.first.stride))

    @property
    def cause(self) -> str:
        """Return what joins the rules that see the same distance."""
        return f"lanes of {self.case.kernel} are {abs(self.first.stride)} elements apart"


def far_reaching(
    source: Source, context: Context, wanted: Callable[[Reach], bool]
) -> Iterator[Far]:
    """Yield for each kernel the accesses that are wanted; at the task's full sizes first."""
    seen: set[str] = set()
    for case in cases(source, context, "full", "main"):
        far = [reach for reach in reaches(case) if wanted(reach)]
        if not far or case.kernel in seen:
            continue
        seen.add(case.kernel)
        line = case.line(far[0].access.node)
        others = sorted({case.line(reach.access.node) for reach in far} - {line})
        yield Far(case, far[0], line, tuple(others), counted(context, line))
