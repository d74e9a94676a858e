"""What a stored result lacks of the parts that the threads of a block computed, by what a few threads do."""

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
    """A store of what lanes have exchanged, and the exchange."""

    store: Access
    exchange: Meeting


def unjoined(case: Case) -> tuple[Loss, ...]:
    """Return the first stores of what one warp alone has reduced, of a row that several warps load together."""
    found: dict[tuple[int, int], Loss] = {}
    for one in _losses(case.walk) if case.walk.threads > WARP else ():
        if _is_of_one_warp(case, one) and _loaded_together(case, one):
            found.setdefault(one.exchange.place, one)
    return tuple(found.values())


def one_lane_has_it(case: Case) -> Loss | None:
    """Return a store by the second thread of what only the first lane of a warp holds in full."""
    second = case.thread(1)
    every = _losses(second, joined=True) if second.threads > 1 else ()
    kept = (one for one in every if one.store.region.space == "global")
    return next((one for one in kept if one.exchange.kind == "one"), None)


def _losses(walk: Walk, *, joined: bool = False) -> Iterator[Loss]:
    """Yield the plain stores of what the lanes of a warp made together; `joined`: or warps after that."""
    for store in walk.memory:
        value = store.value
        made = value.exchanged if value is not None and (joined or not value.joined) else None
        if store.kind == "store" and store.sure and made is not None and made.steps > 1:
            yield Loss(store, made)


def _is_of_one_warp(case: Case, loss: Loss) -> bool:
    """Whether the next warp has no such result of its own: it stores none, or each goes over the row again."""
    store = loss.store
    other = case.thread(WARP).twin(store)
    over = store.region.space == "global" and bool(store.loops)
    return other is None or over or (store.offset is not None and other.offset == store.offset)


def _loaded_together(case: Case, loss: Loss) -> bool:
    """Whether the first threads of two warps load parts of one row before they exchange anything."""
    other, alone = case.thread(WARP), case.thread(1).twin(loss.store) is None
    for load in case.walk.memory[: loss.exchange.accesses]:
        twin = other.twin(load) if load.kind == "load" and load.region.space == "global" else None
        if twin is None or twin.offset is None or load.offset is None:
            continue
        apart = twin.offset - load.offset
        turns = [one.offset for one in case.walk.accesses if one.node.id == load.node.id]
        if len(turns) < 2:
            return alone and not loss.store.loops and apart == WARP
        if turns[1] is not None and 0 < apart < turns[1] - load.offset:
            return True
    return False


def with_result(findings: Iterable[Finding], context: Context) -> Iterator[Finding]:
    """Attach the wrong result's pattern to what the text says; alone it proves no line."""
    seen = tuple(item for item in context.seen("mismatch", "probe") if item.code in CODES)
    for finding in findings:
        yield finding.model_copy(update={"evidence": (*finding.evidence, *seen)})
