"""Accesses of a launch's last block that go past the end of a tensor."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.records import Context
from grader.source import Source
from grader.source.analysis.host_code import are_sizes_checked, origin
from grader.source.analysis.walks import Case, cases
from grader.source.flow import Access, Walk


@dataclass(frozen=True)
class Overrun:
    """A kernel whose last block runs over, with the accesses that do and the first element past the end of each."""

    case: Case
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
        last = case.thread(-1, case.last_block)
        if not case.sizes.real and not any(_linear(last, a) for a in last.accesses):
            continue
        overs = ((access, _overrun(case, last, access)) for access in last.accesses)
        past = tuple((access, over) for access, over in overs if over is not None)
        if past:
            told.add(case.kernel)
            yield Overrun(case, past)


def _overrun(case: Case, last: Walk, access: Access) -> int | None:
    """Return the first element past the end that an access of the last thread touches."""
    tensor, offset = access.region.tensor, access.offset
    numel = tensor.numel if tensor is not None else None
    if tensor is None or numel is None or offset is None or not access.sure:
        return None
    top = offset + access.scale - 1
    if offset >= 0 and top < numel:
        return None
    if case.sizes.complete and not (origin(tensor) or tensor).guessed:
        return top if top >= numel else offset
    plain = _linear(last, access) and not are_sizes_checked(case.launch.host, remainder=True)
    return top if plain and top >= numel else None


def _linear(last: Walk, access: Access) -> bool:
    """Whether an access is at the thread's number in the grid: what every kernel has to guard."""
    number = last.block_index[0] * last.threads + last.thread
    return access.offset == number and access.scale == 1 and not access.loops
