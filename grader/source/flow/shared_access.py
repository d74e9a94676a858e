"""Reads and writes of shared memory: cell by cell, with who stored what and whose data is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.source.flow import memory
from grader.source.flow.loops import Loops
from grader.source.flow.memory import Region
from grader.source.flow.races import Last
from grader.source.flow.scalar_types import SIZES, type_letter
from grader.source.flow.tree import Node
from grader.source.flow.values import (
    Bits,
    Pointer,
    Value,
    every,
    likeness,
    some,
    spread,
)


class SharedAccesses(Loops):
    """Loads and stores of shared arrays."""

    def _cells(self, pointer: Pointer, node: Node, kind: str) -> tuple[Any, Any] | None:
        """Return the cells and the threads of a shared access; report what is out of range."""
        region = pointer.region
        if region.shadow is None or pointer.offset is None or isinstance(pointer.offset, float):
            return None
        if SIZES.get(pointer.type, 0) == 1 != SIZES.get(region.type, 1):
            region.escaped = True  # single bytes of what is followed in larger cells
            return None
        offsets, threads = spread(pointer.offset, self.threads), self.ids
        if not every(self.mask):
            offsets, threads = offsets[self.mask], threads[self.mask]
        self._note_banks(offsets, threads, region, node)
        inside = (offsets >= 0) & (offsets < region.shadow.cells)
        if not every(inside):
            if self.doubt == 0 and not region.escaped:
                bad = offsets[~inside]
                self.emit(
                    "shared-oob",
                    node,
                    region=region,
                    cell=int(bad.max() if bad.max() > 0 else bad.min()),
                    thread=int(threads[~inside][0]),
                    count=len(bad),
                    data={"access": kind},
                )
            offsets, threads = offsets[inside], threads[inside]
        region.shadow.accessed[offsets] = True
        return offsets, threads

    def _note_banks(self, offsets: Any, threads: Any, region: Region, node: Node) -> None:
        """Note an access in which the first warp asks one bank for several words, once a place."""
        if ("banks", node.id) in self.seen or not len(threads):
            return
        if region.space != "shared" or SIZES.get(region.type, 4) != 4:
            return
        self.seen.add(("banks", node.id))
        first = threads[:32] >> 5 == threads[0] >> 5
        words = set(offsets[:32][first].tolist())
        degree = max(Counter(word % 32 for word in words).values())
        if degree >= 4 and min(words) >= 0:
            self.emit("bank-conflict", node, region=region, count=degree)

    def load_shared(self, pointer: Pointer, node: Node) -> Value:
        """Read a shared array in the active threads."""
        region = pointer.region
        region.loads += 1
        letter = type_letter(region.type)
        known = pointer.offset is not None
        varies = isinstance(pointer.offset, np.ndarray) if known else pointer.varies
        found = self._cells(pointer, node, "read")
        if found is None or not len(found[0]) or pointer.scale > 1:
            if found is None:
                self._read_anywhere(region, node)
            parts = memory.everything(region.shadow.parts) if region.shadow is not None else None
            crossed = self.order if parts is not None else 0
            return Value(None, letter, varies, parts, crossed, loaded=True)
        cells, threads = found
        rows = self._rows_of(region, cells, threads, node)
        if rows is None:
            return Value(None, letter, varies, loaded=True)
        crossed = 0 if self._are_own(rows, threads) else self.order
        region.crossed = region.crossed or crossed > 0
        if not rows[0].any() and not rows.any():
            # what was settled before it was stored: it takes no further part in a reduction
            return Value(None, letter, varies, loaded=True)
        parts = self._for_all(rows, threads)
        return self.settled(Value(None, letter, varies, parts, crossed, loaded=True))

    def _rows_of(self, region: Region, cells: Any, threads: Any, node: Node) -> Bits | None:
        """Return whose data is in the cells, a row for each of these threads; note the read."""
        shadow: Any = region.shadow
        if self.doubt or region.escaped:
            return None if shadow.parts is None else shadow.parts[cells]
        self._report_unwritten(region, cells, threads, node)
        self._meet(region, cells, threads, node, shadow.reads, (shadow.stores, shadow.atomics))
        return None if shadow.parts is None else shadow.parts[cells]

    def _meet(
        self,
        region: Region,
        cells: Any,
        threads: Any,
        node: Node,
        mine: Last,
        others: Sequence[Last],
    ) -> None:
        """Report where another warp came to these cells in the same barrier interval, and note that this one did."""
        warps, self.places[node.id] = threads >> 5, node
        for other in others if not region.escaped else ():
            met = other.others(cells, warps, self.epoch)
            if some(met):
                first = self.places[int(other.place[cells[met][0]])]
                self.emit("race", node, other=first, region=region)
        mine.note(cells, warps, self.epoch, node.id)

    def _report_unwritten(self, region: Region, cells: Any, threads: Any, node: Node) -> None:
        """Report reads of cells in which nothing was stored."""
        shadow: Any = region.shadow
        never = shadow.state[cells] == 0
        if some(never) and not region.escaped:
            self.emit(
                "uninit-shared-read",
                node,
                region=region,
                cell=int(cells[never][0]),
                thread=int(threads[never][0]),
                count=int(never.sum()),
                data={
                    "exited": bool(not every(self.alive)),
                    "written": int((shadow.state > 0).sum()),
                },
            )

    def _for_all(self, rows: Bits, threads: Any) -> Bits:
        """Return a row for every thread; nobody's data for those that read nothing."""
        if len(threads) == self.threads:
            return rows
        parts = np.zeros((self.threads, self.words), np.uint64)
        parts[threads] = rows
        return parts

    def _are_own(self, rows: Bits, threads: Any) -> bool:
        """Whether each of these threads has its own data, and no other."""
        first = threads[0]
        return bool((rows[0] == self.own[first]).all()) and every(rows == self.own[threads])

    def settled(self, value: Value) -> Value:
        """Forget whose data is in a value that holds everybody's in every active thread.

        What a next reduction then loses isn't covered up by this one.
        """
        parts = value.parts
        if parts is not None and some(self.mask):
            first = int(self.mask.argmax()) if len(parts) == self.threads else 0
            # one row tells for most
            if every(parts[first] == self.full):
                rows = np.broadcast_to(parts, self.own.shape)[self.mask]
                if every(rows == self.full):
                    value.parts, value.reduced = None, 0
        return value

    def _read_anywhere(self, region: Region, node: Node) -> None:
        """Report a read at an unknown place of an array in which nothing was stored so far."""
        shadow = region.shadow
        if shadow is not None and shadow.cells and not self.doubt and not shadow.state.any():
            threads = self.ids[self.mask]
            if len(threads):
                cells = np.zeros(len(threads), np.int64)
                self._report_unwritten(region, cells, threads, node)

    def put_shared(self, pointer: Pointer, value: Value, node: Node, atomic: bool) -> None:
        """Write a shared array in the active threads."""
        region = pointer.region
        region.stores += 1
        region.atomics += atomic
        if region.shadow is None:
            return
        found = self._cells(pointer, node, "write")
        if found is None:
            self._put_anywhere(region, node, atomic)
        elif len(found[0]) and (self.doubt or region.escaped or pointer.scale > 1):
            self._put_perhaps(region.shadow, *found, value, pointer.scale)
        elif len(found[0]):
            self._put_surely(region, *found, value, node, atomic)

    def _put_anywhere(self, region: Region, node: Node, atomic: bool) -> None:
        """Note a store at an unknown place: any cell may hold the value now, whosever it is."""
        if atomic:
            self._read_anywhere(region, node)
        region.escaped = True

    def _put_perhaps(self, shadow: Any, cells: Any, threads: Any, value: Value, scale: int) -> None:
        """Note a store that may not be made, or that covers several cells a thread."""
        for step in range(scale):
            inside = cells + step
            shadow.maybe(inside[inside < shadow.cells])
        if value.parts is not None:
            rows = np.broadcast_to(value.parts, (self.threads, self.words))[threads]
            shadow.add_parts(cells, rows)

    def _put_surely(
        self, region: Region, cells: Any, threads: Any, value: Value, node: Node, atomic: bool
    ) -> None:
        """Note a store whose cells are known in every thread that makes it."""
        shadow: Any = region.shadow
        parts = value.parts
        if parts is not None and (len(parts) != self.threads or len(threads) != self.threads):
            parts = np.broadcast_to(parts, (self.threads, self.words))[threads]
        if atomic:
            self._report_unwritten(region, cells, threads, node)
            self._meet(region, cells, threads, node, shadow.atomics, (shadow.reads, shadow.stores))
        else:
            before = (shadow.reads, shadow.atomics, *([shadow.stores] if not value.uniform else ()))
            self._meet(region, cells, threads, node, shadow.stores, before)
            self._report_lost(region, cells, threads, value, node)
        self.initialised += shadow.write(cells, parts, atomic=atomic)

    def _report_lost(
        self, region: Region, cells: Any, threads: Any, value: Value, node: Node
    ) -> None:
        """Report cells to which threads of one store have written different values."""
        shadow: Any = region.shadow
        shadow.owner[cells] = threads
        last, like = shadow.owner[cells], likeness(value)
        lost = (last != threads) & (not value.uniform)
        if like is not None:
            lost &= like[last] != like[threads]
        if some(lost):
            self.emit("race", node, other=node, region=region)
