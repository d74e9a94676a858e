"""Reads and writes of memory by the threads of a block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.source.flow.memory import Region
from grader.source.flow.scalar_types import type_letter
from grader.source.flow.shared_access import SharedAccesses
from grader.source.flow.tree import Expr, Lambda, Member, Name, Node, Subscript
from grader.source.flow.values import (
    Pointer,
    Value,
    binary,
    every,
    likeness,
    unknown,
)


class Accesses(SharedAccesses):
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
        return self.load_shared(pointer, node)

    def _load_global(self, pointer: Pointer, node: Node) -> Value:
        region = pointer.region
        region.loads += 1
        offset = Value(pointer.offset, "l", pointer.varies)
        self.access("load", region, node, offset, scale=pointer.scale)
        uniform = offset.uniform
        parts = None if uniform else self.own
        like = None if uniform else likeness(offset)
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
            self.put_shared(pointer, value, node, atomic)

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

    def note_vector(self, pointer: Pointer, width: int) -> None:
        """Note a cast to a vector type, for alignment."""
        if pointer.region.space == "global":
            self.walk.vectors.append((self.cast_node, pointer, width))

    cast_node: Node = None
    """The cast that is being evaluated."""
