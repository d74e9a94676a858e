"""Reads and writes of memory by the threads of a block."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from grader.source.flow import memory
from grader.source.flow.asides import Asides
from grader.source.flow.memory import Region
from grader.source.flow.scalar_types import SIZES, type_letter
from grader.source.flow.trace import Care
from grader.source.flow.tree import Expr, Lambda, Member, Name, Node, Subscript
from grader.source.flow.values import (
    Bits,
    Pointer,
    Value,
    binary,
    every,
    join,
    likeness,
    some,
    spread,
    unknown,
)


class Accesses(Asides):
    """Addresses, loads and stores."""

    def address(self, expr: Subscript) -> Pointer | None:
        """Return where `base[index]` is, or None if the base is no memory that is known."""
        base = self.eval(expr.base) if not isinstance(expr.base, Subscript) else None
        pointer = base.pointer if base is not None else self._row(expr.base)
        index = self.eval(expr.index)
        if pointer is None:
            return None
        return self._advance(pointer, index, self._stride(pointer, pointer.depth), deeper=True)

    def _row(self, expr: Expr) -> Pointer | None:
        return self.address(expr) if isinstance(expr, Subscript) else None

    @staticmethod
    def _stride(pointer: Pointer, depth: int) -> int:
        out = 1
        for size in pointer.region.dims[depth + 1 :]:
            out *= size
        return out

    @staticmethod
    def _advance(pointer: Pointer, index: Value, stride: int, deeper: bool = False) -> Pointer:
        """Return the pointer moved by `index` steps of `stride` elements."""
        at = Value(pointer.offset, "l", pointer.varies)
        step = stride * pointer.scale
        moved = binary("+", at, index if step == 1 else binary("*", index, Value(step, "i", False)))
        return Pointer(
            pointer.region,
            moved.number,
            moved.number is None and moved.varies,
            pointer.scale,
            pointer.depth + 1 if deeper else pointer.depth,
            pointer.type,
        )

    def move(self, left: Value, right: Value, op: str) -> Value:
        """Return pointer arithmetic's result."""
        if left.pointer is not None and right.pointer is not None:
            return unknown(type_="l")
        base, by = (left, right) if left.pointer is not None else (right, left)
        pointer = base.pointer
        if pointer is None:
            return unknown(left, right)
        if op == "-":
            by = binary("-", Value(0, "i", False), by)
        stride = self._stride(pointer, pointer.depth)
        return Value(None, varies=False, pointer=self._advance(pointer, by, stride))

    def address_of(self, expr: Expr) -> Value:
        """Return the value of `&expr`."""
        if isinstance(expr, Subscript):
            pointer = self.address(expr)
            if pointer is not None:
                done = replace(pointer, depth=max(pointer.depth, len(pointer.region.dims)))
                return Value(None, varies=False, pointer=done)
            return Value(None, varies=False)
        if isinstance(expr, Name):
            box = self.find(expr.id)
            if box is not None and box.type == "cell":
                return box.value
        value = self.eval(expr) if not isinstance(expr, Lambda) else Value()
        if isinstance(expr, Name) and box is not None and value.pointer is None:
            region = Region(expr.id, "local", summary=value)
            return Value(None, varies=False, pointer=Pointer(region), thing=box)
        if isinstance(expr, Member):
            return Value(None, varies=False)
        return value

    def escape(self, value: Value) -> None:
        """Note that memory may be accessed by something that isn't followed."""
        if value.pointer is not None:
            value.pointer.region.escaped = True
            box = value.thing
            if value.pointer.region.space == "local" and hasattr(box, "value"):
                box.value = unknown(box.value)
                box.value.varies = True

    # --- loads -------------------------------------------------------------------------------

    def load(self, pointer: Pointer | None, node: Node) -> Value:
        """Read memory in the active threads."""
        if pointer is None:
            return Value(None, loaded=True)
        region = pointer.region
        if pointer.depth < len(region.dims):
            return Value(None, varies=False, pointer=pointer)
        if region.space == "global":
            return self._load_global(pointer, node)
        if region.space == "local":
            return self._load_local(pointer)
        return self._load_shared(pointer, node)

    def _load_global(self, pointer: Pointer, node: Node) -> Value:
        region = pointer.region
        region.loads += 1
        offset = Value(pointer.offset, "l", pointer.varies)
        self.access("load", region, node, offset, scale=pointer.scale)
        uniform = offset.uniform
        followed = self.walk.care is Care.DATA and not uniform
        parts = self.own if followed else None
        like = likeness(offset) if followed else None
        return Value(None, type_letter(pointer.type), not uniform, parts, loaded=True, like=like)

    @staticmethod
    def _load_local(pointer: Pointer) -> Value:
        region: Region = pointer.region
        index = Value(pointer.offset).scalar
        if index is not None and index in region.values:
            return region.values[index]
        known = [region.summary] if region.summary is not None else []
        if index is None:
            known += list(region.values.values())
        out = unknown(*known)
        out.varies = out.varies or pointer.varies or isinstance(pointer.offset, np.ndarray)
        return out

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
        return offsets, threads

    def _note_banks(self, offsets: Any, threads: Any, region: Region, node: Node) -> None:
        """Note an access in which the first warp asks one bank for several words, once a place."""
        if self.walk.care is not Care.DATA or ("banks", node.id) in self.seen or not len(threads):
            return
        if region.space != "shared" or SIZES.get(region.type, 4) != 4:
            return
        self.seen.add(("banks", node.id))
        first = threads[:32] >> 5 == threads[0] >> 5
        words = set(offsets[:32][first].tolist())
        degree = max(Counter(word % 32 for word in words).values())
        if degree >= 4 and min(words) >= 0:
            self.emit("bank-conflict", node, region=region, count=degree)

    def _load_shared(self, pointer: Pointer, node: Node) -> Value:
        region = pointer.region
        region.loads += 1
        letter = type_letter(self.type_name_of(region))
        uniform = (
            not pointer.varies
            if pointer.offset is None
            else not isinstance(pointer.offset, np.ndarray)
        )
        found = self._cells(pointer, node, "read") if self.walk.care > Care.ADDRESSES else None
        if self.walk.care is not Care.DATA:
            return Value(None, letter, not uniform, loaded=True)
        if found is None or not len(found[0]) or pointer.scale > 1:
            shadow = region.shadow
            if found is None:
                self._read_anywhere(region, node)
            parts = memory.everything(shadow.parts) if shadow is not None else None
            crossed = self.order if parts is not None else 0
            return Value(None, letter, not uniform, parts, crossed, loaded=True)
        cells, threads = found
        shadow = region.shadow
        if self.doubt or region.escaped:
            rows = None if shadow.parts is None else shadow.parts[cells]
        else:
            number = self.number_of(node)
            rows = memory.read(
                shadow, cells, threads, self.clock, number, self.reporter(node, region)
            )
        if rows is None:
            return Value(None, letter, not uniform, loaded=True)
        crossed = 0 if self._are_own(rows, threads) else self.order
        region.crossed = region.crossed or crossed > 0
        if not rows[0].any() and not rows.any():
            # what was settled before it was stored: it takes no further part in a reduction
            return Value(None, letter, not uniform, loaded=True)
        parts = rows
        if len(threads) < self.threads:
            parts = np.zeros((self.threads, self.words), np.uint64)
            parts[threads] = rows
        return self.settled(Value(None, letter, not uniform, parts, crossed, loaded=True))

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
                self.reporter(node, region)("uninit-shared-read", cells, threads, -1, False)

    def type_name_of(self, region: Region) -> str:
        """Return the element type of a region."""
        return region.type

    # --- stores ------------------------------------------------------------------------------

    def put(self, pointer: Pointer | None, value: Value, node: Node, atomic: bool = False) -> None:
        """Write memory in the active threads."""
        if pointer is None:
            return
        region = pointer.region
        if region.space == "global":
            offset = Value(pointer.offset, "l", pointer.varies)
            region.stores += not atomic
            region.atomics += atomic
            kind = "atomic" if atomic else "store"
            self.access(kind, region, node, offset, scale=pointer.scale, value=value)
        elif region.space == "local":
            self._put_local(pointer, value)
        else:
            self._put_shared(pointer, value, node, atomic)

    def _put_local(self, pointer: Pointer, value: Value) -> None:
        region = pointer.region
        index = Value(pointer.offset).scalar
        if index is not None and every(self.mask) and not self.doubt:
            region.values[index] = value
            return
        old = [region.summary] if region.summary is not None else []
        region.summary = unknown(*old, *region.values.values(), value)
        region.summary.varies = True
        region.values.clear()

    def _put_shared(self, pointer: Pointer, value: Value, node: Node, atomic: bool) -> None:
        region = pointer.region
        region.stores += 1
        region.atomics += atomic
        shadow = region.shadow
        if shadow is None:
            return
        found = self._cells(pointer, node, "write") if self.walk.care > Care.ADDRESSES else None
        if self.walk.care is not Care.DATA:
            return
        if found is None:
            if atomic:
                self._read_anywhere(region, node)
            shadow.maybe_all()
            every = memory.everything(value.parts)
            if every is not None:
                memory.add_parts(
                    shadow, np.arange(shadow.cells), np.repeat(every, shadow.cells, axis=0)
                )
            return
        cells, threads = found
        if not len(cells):
            return
        if self.doubt or region.escaped or pointer.scale > 1:
            for step in range(pointer.scale):
                inside = cells + step
                shadow.maybe(inside[inside < shadow.cells])
            if value.parts is not None:
                rows = np.broadcast_to(value.parts, (self.threads, self.words))[threads]
                memory.add_parts(shadow, cells, rows)
            return
        before = shadow.initialised
        parts = value.parts
        if parts is not None and (len(parts) != self.threads or len(threads) != self.threads):
            parts = np.broadcast_to(parts, (self.threads, self.words))[threads]
        number, report = self.number_of(node), self.reporter(node, region)
        if atomic:
            memory.read(shadow, cells, threads, self.clock, number, report, atomic=True)
        memory.write(shadow, cells, threads, self.clock, number, report, value, parts, atomic)
        self.initialised += shadow.initialised - before

    def note_vector(self, pointer: Pointer, width: int) -> None:
        """Note a cast to a vector type, for alignment."""
        if pointer.region.space == "global":
            self.walk.vectors.append((self.cast_node, pointer, width))

    cast_node: Node = None
    """The cast that is being evaluated."""


__all__ = ["Accesses", "join"]
