"""How the warps of a walk touch global memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from grader.records import AccessShape, Confidence, Context, Evidence, Place, SectorCounts
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access
from grader.source.scalar_types import SIZES

SECTOR = 32
"""Bytes that memory moves at least."""
FEW_LANES = 8


@dataclass(frozen=True)
class Reach:
    """One access as a warp makes it, by its first lanes."""

    access: Access
    stride: int
    """Elements between neighbouring lanes."""
    sectors: int
    ideal: int
    turn: int
    """Elements by which a thread moves on from one turn of its loop to the next; 0: unknown."""


def reaches(case: Case) -> Iterator[Reach]:
    """Yield the accesses of a walk whose lanes lie evenly apart, each place once."""
    seen: set[int] = set()
    across = case.launch.block[0] or 1
    lanes = min(across if across > 1 else case.walk.threads, 32)
    for access in case.walk.accesses if lanes >= FEW_LANES else ():
        stride = case.stride(access) if access.node.id not in seen else None
        if stride and access.offset is not None:
            seen.add(access.node.id)
            size = SIZES.get(access.region.type, 4)
            starts = [(access.offset + lane * stride) * size for lane in range(lanes)]
            ends = [start + size * access.scale - 1 for start in starts]
            sectors = len({byte // SECTOR for byte in (*starts, *ends)})
            ideal = max(1, -(-lanes * size * access.scale // SECTOR))
            yield Reach(access, stride, sectors, ideal, _turn(case, access, access.offset))


def _turn(case: Case, access: Access, offset: int) -> int:
    """Return how far the first thread goes on from one turn of the loop around an access to the next."""
    if not access.loops:
        return 0
    second = (*access.loops[:-1], (access.loops[-1][0], access.loops[-1][1] + 1))
    later = case.walk.twin(replace(access, loops=second))
    return later.offset - offset if later is not None and later.offset is not None else 0


def counted_at_line(context: Context, line: int) -> tuple[Evidence, ...]:
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
        yield Far(case, far[0], line, tuple(others), counted_at_line(context, line))
