"""What a stored result lacks of the parts that the threads of a block computed, by what a few threads do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.records import Context, Finding
from grader.source.analysis.walks import Case
from grader.source.flow import Access, Meeting, Walk

CODES = frozenset(
    {"constant-factor", "row-factor", "zeros", "one-value", "constant-offset", "partial"}
)
"""The patterns of wrong values that a lost part of a sum leaves."""
WARP = 32


@dataclass(frozen=True)
class Loss:
    """A store of what lanes have exchanged, and the exchanges before it."""

    store: Access
    first: Meeting
    last: Meeting


def unjoined(case: Case) -> Loss | None:
    """Return a store of what one warp has reduced, of a row that several warps load together."""
    first = case.walk
    if first.threads <= WARP:
        return None
    for loss in _losses(first):
        at, until = loss.first.accesses, first.memory.index(loss.store)
        joined = any(one.region.space == "shared" for one in first.memory[at:until])
        if not joined and _loaded_together(case, at, loss.store):
            return loss
    return None


def one_lane_has_it(case: Case) -> Loss | None:
    """Return a store by the second thread of what only the first lane of a warp holds in full."""
    second = case.thread(1)
    every = _losses(second) if second.threads > 1 else ()
    return next((one for one in every if one.store.value and one.store.value.exchanged == "down"), None)


def _losses(walk: Walk) -> Iterator[Loss]:
    """Yield the plain stores to global memory of what the lanes of a warp made together."""
    for count, store in enumerate(walk.memory):
        before = [one for one in walk.exchanges if one.accesses <= count]
        made = store.value is not None and store.value.exchanged and store.sure
        if store.kind == "store" and store.region.space == "global" and made and before:
            yield Loss(store, before[0], before[-1])


def _loaded_together(case: Case, until: int, store: Access) -> bool:
    """Whether the first threads of two warps load parts of one row before they exchange anything."""
    other = case.thread(WARP)
    alone = other.twin(store) is None and case.thread(1).twin(store) is None
    for load in case.walk.memory[:until]:
        twin = other.twin(load) if load.kind == "load" and load.region.space == "global" else None
        if twin is None or twin.offset is None or load.offset is None:
            continue
        apart = twin.offset - load.offset
        if not load.loops:
            return alone and apart == WARP
        turns = [a for a in case.walk.accesses if a.node.id == load.node.id and a.offset is not None]
        if len(turns) > 1 and 0 < apart < (turns[1].offset or 0) - load.offset:
            return True
    return False


def with_result(findings: Iterable[Finding], context: Context) -> Iterator[Finding]:
    """Attach the wrong result's pattern to what the text says; alone it proves no line."""
    seen = tuple(item for item in context.seen("mismatch", "probe") if item.code in CODES)
    for finding in findings:
        yield finding.model_copy(update={"evidence": (*finding.evidence, *seen)})
