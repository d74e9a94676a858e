"""Where the threads of a block part, and what ends of shared arrays they pass, told by following a few: the first, the last, some at borders of warps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from tree_sitter import Node

from grader.source.analysis.walks import Case
from grader.source.divergence import depends_on_thread
from grader.source.flow import Access, Meeting, Walk

WARP = 32
SAMPLE = (0, 1, 31, 32, 33, 63, 64, 128)


@dataclass(frozen=True)
class Parted:
    """A barrier or an exchange that one thread comes to and another does not."""

    at: Meeting
    absent: int
    """The thread that does not come."""
    cause: Node | None
    """The condition that it went by: of a `return`, or of the branch around."""
    left: bool
    """Whether it has returned."""


@dataclass(frozen=True)
class Past:
    """An access past the end of a shared array, to which cell, and of which thread."""

    access: Access
    cell: int
    thread: int


@lru_cache(maxsize=64)
def sample(case: Case) -> tuple[Walk, ...]:
    """Return the walks of a few threads of a launch's first block."""
    threads = case.walk.threads
    wanted = {*SAMPLE, threads // 2 - 1, threads - WARP, threads - 1}
    numbers = sorted(number for number in wanted if 0 <= number < threads)
    return tuple(case.thread(number) for number in numbers)


def past_the_end(case: Case) -> list[Past]:
    """Return the accesses past the end of a shared array, the earliest first."""
    found: list[tuple[int, Past]] = []
    for walk in sample(case):
        for order, access in enumerate(walk.memory):
            cells, offset = access.region.cells, access.offset
            followed = access.region.space == "shared" and not access.region.escaped
            if not followed or cells is None or offset is None or not access.sure:
                continue
            top = offset + access.scale - 1
            if offset < 0 or top >= cells:
                found.append((order, Past(access, top if top >= cells else offset, walk.thread)))
    return [past for _, past in sorted(found, key=itemgetter(0))]


def parted_barriers(case: Case) -> Iterator[Parted]:
    """Yield the barriers that some threads don't come to."""
    walks = [walk for walk in sample(case) if not walk.stopped]
    most = max(walks, key=lambda walk: len(walk.barriers), default=case.walk)
    for walk in walks:
        yield from _parted(walk, most.barriers, walk.barriers)


def absent_lanes(case: Case) -> Iterator[Parted]:
    """Yield the exchanges whose masks name lanes that don't come to them."""
    walks = [walk for walk in sample(case) if not walk.stopped]
    for first in {walk.thread // WARP for walk in walks}:
        lanes = [walk for walk in walks if walk.thread // WARP == first]
        most = max(lanes, key=lambda walk: len(walk.exchanges))
        for lane in lanes:
            for one in _parted(lane, most.exchanges, lane.exchanges):
                if one.at.mask >> (lane.thread % WARP) & 1:
                    yield one


def _parted(other: Walk, mine: Sequence[Meeting], others: Sequence[Meeting]) -> Iterator[Parted]:
    """Yield the meetings of a thread to which another thread does not come."""
    count = 0
    for one in mine:
        if count < len(others) and others[count].place == one.place:
            count += 1
        elif one.sure:
            left = other.left is not None and count == len(others)
            yield Parted(one, other.thread, other.left if left else _condition(one), left)


def _condition(meeting: Meeting) -> Node | None:
    """Return the innermost condition on the way to a place that depends on the thread's number."""
    parting = (one for one in reversed(meeting.branches) if depends_on_thread(one))
    return next(parting, meeting.branches[-1] if meeting.branches else None)
