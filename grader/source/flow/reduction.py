"""Which threads' partial results reach what a kernel stores.

Every thread's loads carry that thread's bit, through registers, shuffles and shared memory. Threads
that load a row together (their addresses interleave with the stride of one loop) must all be in
what is stored for that row; which of them are not tells the defects of reductions apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.source.flow.memory import Region
from grader.source.flow.trace import Access, Walk
from grader.source.flow.tree import Node

Groups = npt.NDArray[np.int64]
"""For each thread the number of the group that loads a row together; -1 for none."""


CAUSES = frozenset({"shared-oob", "shuffle-mask"})
"""Events that lose data by themselves: what is lacking afterwards is their doing."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A store whose value lacks partial results."""

    kind: str
    """`warp` (only the thread's own warp), `broadcast` (complete in some threads only), `some`."""
    store: Access
    exchange: Node
    """The last shuffle before the store, or None."""
    exchange_call: Node
    first_exchange: Node
    first_call: Node
    have: int
    """Threads in the value that the worst-off thread stores."""
    want: int
    group: int
    """Threads that load the row together."""
    thread: int
    missing: tuple[int, ...]
    uneven: bool
    """Some threads hold much more of the sum than others that store it as well."""


def losses(walk: Walk) -> tuple[Loss, ...]:
    """Return the stores of a walk that lack partial results, one a place."""
    causes = any(event.kind in CAUSES and event.sure for event in walk.events)
    if causes or any(_not_followed(region) for region in walk.regions):
        return ()
    groups = _groups(walk)
    found: dict[int, Loss] = {}
    for access in walk.accesses:
        value = access.value
        if access.kind != "store" or value is None or value.parts is None or not value.reduced:
            continue
        if not access.sure or access.node.id in found or walk.threads < 2:
            continue
        wanted = groups if groups is not None else _everyone(walk, access)
        loss = _loss(walk, access, wanted) if wanted is not None else None
        if loss is not None:
            found[access.node.id] = loss
    return tuple(found.values())


def _not_followed(region: Region) -> bool:
    """Whether threads exchange data through an array whose cells aren't followed."""
    used = bool(region.stores or region.loads)
    return region.space == "shared" and used and (region.escaped or region.shadow is None)


def _groups(walk: Walk) -> Groups | None:
    """Group the threads by the first loop in which their loads interleave."""
    first: dict[tuple[int, int], Access] = {}
    chosen: int | None = None
    for access in walk.accesses:
        if access.kind != "load" or not access.loops or access.offsets is None or access.uniform:
            continue
        loop, iteration = access.loops[-1]
        chosen = loop if chosen is None else chosen
        if loop != chosen:
            return None
        key = (loop, access.node.id)
        if iteration == 0:
            first.setdefault(key, access)
        elif iteration == 1 and key in first:
            groups = _interleaved(first[key], access)
            if groups is not None:
                return groups
    return None


def _interleaved(one: Access, two: Access) -> Groups | None:
    if one.offsets is None or two.offsets is None:
        return None
    both = one.mask & two.mask
    steps = (two.offsets - one.offsets)[both]
    if len(steps) < 2 or steps[0] <= 0 or not (steps == steps[0]).all():
        return None
    if len(np.unique(one.offsets[one.mask])) < int(one.mask.sum()):
        return None  # rows that overlap: threads that load the same share no work
    step, order = steps[0], np.argsort(one.offsets, kind="stable")
    groups = np.full(len(one.offsets), -1, np.int64)
    number, start = -1, None
    for thread in order:
        if not one.mask[thread]:
            continue
        if start is None or one.offsets[thread] - start >= step:
            number, start = number + 1, one.offsets[thread]
        groups[thread] = number
    return groups if np.bincount(groups[groups >= 0]).max() > 1 else None


def _everyone(walk: Walk, store: Access) -> Groups | None:
    """Where no loop tells: one thread that stores one number of the block speaks for all."""
    if int(store.mask.sum()) != 1:
        return None
    for access in walk.accesses:
        if access.kind == "load" and not access.uniform and access.offsets is not None:
            plain = bool(access.mask.any()) and access.order < store.order
            return np.where(access.mask, 0, -1) if plain else None
    return None


def _bits(walk: Walk, rows: Any) -> npt.NDArray[np.bool_]:
    """Return sets of threads as a matrix of truth values."""
    data = np.ascontiguousarray(rows).view(np.uint8)
    return np.unpackbits(data, axis=1, bitorder="little")[:, : walk.threads].astype(np.bool_)


def _loss(walk: Walk, store: Access, groups: Groups) -> Loss | None:
    value = store.value
    if value is None or value.parts is None:
        return None
    rows = np.broadcast_to(value.parts, (walk.threads, value.parts.shape[1]))
    have = _bits(walk, rows)
    storing = np.flatnonzero(store.mask & (groups >= 0))
    if not len(storing):
        return None
    want = groups[storing][:, None] == groups[None, :]
    lacking = (want & ~have[storing]).sum(axis=1)
    if not lacking.any() or not have[storing].any() or want.sum(axis=1).max() < 8:
        return None
    worst = int(np.argmax(lacking))
    thread = int(storing[worst])
    missing = np.flatnonzero(want[worst] & ~have[thread])
    if _is_scan(have[storing], storing):
        return None
    if not int(have[storing].sum(axis=1).max()) > 1:
        return None
    kind = _kind(have[storing], storing, want, lacking)
    counts = have[storing].sum(axis=1)
    every = [x for x in walk.exchanges if x[0] <= min(value.reduced, store.order)]
    before = [x for x in every if x[3] != "idx"] or every
    nothing = (0, None, None, "")
    last, first = (before[-1], before[0]) if before else (nothing, nothing)
    return Loss(
        kind,
        store,
        last[1],
        last[2],
        first[1],
        first[2],
        int(have[thread].sum()),
        int(want[worst].sum()),
        int((groups == groups[thread]).sum()),
        thread,
        tuple(int(t) for t in missing[:4]),
        kind == "broadcast" or int(counts.max()) >= 4 * int(counts.min()) > 0,
    )


def _is_scan(have: Any, storing: Any) -> bool:
    """Whether every thread holds its own and lower threads' data: a prefix sum."""
    above = np.arange(have.shape[1])[None, :] > storing[:, None]
    return bool(not (have & above).any() and (have.sum(axis=1) > 1).any() and len(storing) > 1)


def _kind(have: Any, storing: Any, want: Any, lacking: Any) -> str:
    warps = np.arange(have.shape[1]) >> 5
    outside = have & (warps[None, :] != (storing >> 5)[:, None])
    if (lacking == 0).any():
        return "broadcast"
    if want.sum(axis=1).max() > 32 and not outside.any():
        return "warp"
    return "some"
