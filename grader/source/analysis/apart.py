"""What ends of shared arrays the threads of a block pass, told by following a few: the first, the last, some at borders of warps."""

from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from grader.source.analysis.walks import Case
from grader.source.flow import Access, Walk

WARP = 32
SAMPLE = (0, 1, 31, 32, 33, 63, 64, 128)


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
