"""Where the threads of a block part or collide, told by following a few of them: the first and the last, and those
at the borders of warps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from grader.source.analysis.walks import Case
from grader.source.cuda_code import around
from grader.source.flow import Access, Meeting, Walk

WARP = 32
SAMPLE = (0, 1, 31, 32, 33, 63, 64, 128)
BRANCHES = {"if_statement", "for_statement", "while_statement", "do_statement"}


@dataclass(frozen=True)
class Parted:
    """A barrier or an exchange that one thread comes to and another does not."""

    at: Meeting
    thread: int
    absent: int
    """The thread that does not come."""
    cause: Node | None
    """The condition that it went by: of a `return`, or of the branch around."""
    left: bool
    """Whether it has returned."""


@lru_cache(maxsize=64)
def sample(case: Case) -> tuple[Walk, ...]:
    """Return the walks of a few threads of a launch's first block."""
    threads = case.walk.threads
    numbers = sorted({number for number in (*SAMPLE, threads - 1) if 0 <= number < threads})
    return tuple(case.thread(number) for number in numbers)


def races(case: Case) -> dict[str, tuple[Access, Access]]:
    """Return, by array, two accesses to one cell of different warps that no barrier parts, in their order."""
    walks = sample(case)
    if len({tuple(one.node.id for one in walk.barriers) for walk in walks}) > 1:
        return {}  # not all threads count the same barriers
    at: dict[tuple[int, int, int], list[tuple[int, int, Access]]] = {}
    found: dict[str, tuple[Access, Access]] = {}
    for walk in walks:
        for order, access in enumerate(walk.memory):
            if access.region.space != "shared" or access.offset is None or not access.sure:
                continue
            for cell in range(access.offset, access.offset + access.scale):
                mine = (walk.thread // WARP, order, access)
                key = (access.region.node.id, cell, access.interval)
                for other in at.setdefault(key, []):
                    if other[0] != mine[0] and _conflict(other[2], access):
                        first, second = sorted((other, mine), key=lambda one: one[1])
                        found.setdefault(access.region.name, (first[2], second[2]))
                at[key].append(mine)
    return {name: pair for name, pair in found.items() if not pair[0].region.escaped}


def _conflict(one: Access, other: Access) -> bool:
    """Whether one reads what the other writes, or adds to what the other overwrites."""
    return one.kind != other.kind


def unfilled(case: Case) -> dict[str, Access]:
    """Return, by array, the first read of shared memory that no thread ever stores anything in."""
    walks = sample(case)
    every = [one for walk in walks for one in walk.memory if one.region.space == "shared"]
    filled = {one.region.node.id for one in every if one.kind != "load" or one.region.escaped}
    reads = (one for one in every if one.region.node.id not in filled and one.sure)
    found: dict[str, Access] = {}
    for one in reads if not any(walk.stopped for walk in walks) else ():
        found.setdefault(one.region.name, one)
    return found


def past_the_end(case: Case) -> Iterator[tuple[Access, int, int]]:
    """Yield the accesses past the end of a shared array, with the cell and the thread."""
    for walk in sample(case):
        for access in walk.shared:
            cells, offset = access.region.cells, access.offset or 0
            top = offset + access.scale - 1
            if access.sure and cells is not None and (offset < 0 or top >= cells):
                yield access, top if top >= cells else offset, walk.thread


def parted_barriers(case: Case) -> Iterator[Parted]:
    """Yield the first barrier that some threads don't come to, for each way to miss one."""
    walks = [walk for walk in sample(case) if not walk.stopped]
    longest = max(walks, key=lambda walk: len(walk.barriers), default=case.walk)
    for walk in walks:
        for count, meeting in enumerate(longest.barriers):
            mine = walk.barriers[count : count + 1]
            if not meeting.sure or (mine and mine[0].node.id == meeting.node.id):
                continue
            yield _parted(meeting, longest, walk, left=walk.left is not None and not mine)
            break


def absent_lanes(case: Case) -> Iterator[Parted]:
    """Yield the exchanges whose masks name lanes that don't come to them."""
    walks = [walk for walk in sample(case) if not walk.stopped]
    for walk in walks:
        for meeting in walk.exchanges if walk.thread in (0, WARP) else ():
            for other in walks:
                named = meeting.mask >> (other.thread % WARP) & 1
                if not named or other.thread // WARP != walk.thread // WARP or not meeting.sure:
                    continue
                if all(one.node.id != meeting.node.id for one in other.exchanges):
                    yield _parted(meeting, walk, other, left=other.left is not None)


def _parted(meeting: Meeting, walk: Walk, other: Walk, *, left: bool) -> Parted:
    cause: Node | None = other.left if left else _condition(meeting)
    return Parted(meeting, walk.thread, other.thread, cause, left)


def _condition(meeting: Meeting) -> Node | None:
    """Return the condition of the innermost branch around a place, or around the call that leads to it."""
    for place in (meeting.node, meeting.call):
        for outer in around(place) if place is not None else ():
            condition = outer.child_by_field_name("condition")
            if outer.type in BRANCHES and condition is not None:
                return condition
    return None
