"""Addresses, and the loads and stores of a thread."""

from dataclasses import replace

from grader.source.cpp import Expr, Lambda, Member, Name, Node, Subscript
from grader.source.flow.loops import Loops
from grader.source.flow.memory import Region
from grader.source.flow.values import Pointer, Value, binary, unknown_value
from grader.source.scalar_types import SIZES, type_letter


class Accesses(Loops):
    """Addresses, loads and stores."""

    def address(self, expr: Subscript) -> Pointer | None:
        """Return where `base[index]` is, or None if the base is no memory that is known."""
        row = expr.base if isinstance(expr.base, Subscript) else None
        pointer = self.address(row) if row is not None else self.eval(expr.base).pointer
        index = self.eval(expr.index)
        if pointer is None:
            return None
        return replace(_advanced(pointer, index), depth=pointer.depth + 1)

    def move(self, left: Value, right: Value, op: str) -> Value:
        """Return pointer arithmetic's result."""
        if left.pointer is not None and right.pointer is not None:
            return unknown_value(type_="l")
        base, by = (left, right) if left.pointer is not None else (right, left)
        if base.pointer is None:
            return unknown_value(left, right)
        by = binary("-", Value(0, "i"), by) if op == "-" else by
        return Value(pointer=_advanced(base.pointer, by))

    def address_of(self, expr: Expr) -> Value:
        """Return the value of `&expr`."""
        if isinstance(expr, Subscript):
            pointer = self.address(expr)
            if pointer is not None:
                pointer = replace(pointer, depth=max(pointer.depth, len(pointer.region.dims)))
            return Value(pointer=pointer)
        if isinstance(expr, Member | Lambda):
            return Value()
        box = self.find(expr.id) if isinstance(expr, Name) else None
        if box is not None and box.type == "cell":
            return box.value
        value = self.eval(expr)
        if isinstance(expr, Name) and box is not None and value.pointer is None:
            return Value(pointer=Pointer(Region(expr.id, "local")), thing=box)
        return value

    def escape(self, value: Value) -> None:
        """Note that memory may be accessed by something that isn't followed."""
        if value.pointer is not None:
            value.pointer.region.escaped = True
            value.pointer.region.values.clear()
            box = value.thing
            if value.pointer.region.space == "local" and hasattr(box, "value"):
                box.value = unknown_value(box.value)

    def load(self, pointer: Pointer | None, node: Node) -> Value:
        """Read memory."""
        if pointer is None:
            return Value()
        region = pointer.region
        if pointer.depth < len(region.dims):
            return Value(pointer=pointer)
        letter = type_letter(pointer.type if region.space == "global" else region.type)
        if region.space == "local":
            known = region.values.get(pointer.offset) if pointer.offset is not None else None
            return known or Value(None, letter)
        region.loads += 1
        self.access("load", region, node, pointer.offset, scale=pointer.scale)
        return Value(None, letter, joined=region.space == "shared" and region.cells != 1)

    def put(self, pointer: Pointer | None, value: Value, node: Node, kind: str = "store") -> None:
        """Write memory; `kind` is `store` or `atomic`."""
        if pointer is None:
            return
        region = pointer.region
        if region.space != "local":
            region.stores += kind == "store" or region.space == "shared"
            region.atomics += kind == "atomic"
            self.access(kind, region, node, pointer.offset, scale=pointer.scale, value=value)
        elif pointer.offset is None or self.doubt:
            region.values.clear()
        else:
            region.values[pointer.offset] = value

    def cast_pointer(self, value: Value, kind: str) -> Value:
        """Return a pointer as one to another type."""
        pointer = value.pointer
        if pointer is None:
            return value
        region, now = pointer.region, SIZES.get(kind, 0)
        if region.space == "shared" and SIZES.get(pointer.type, 4) != now:
            pointer = _retyped(pointer, kind, now)
        was = SIZES.get(pointer.type, 4)
        wide = max(now // was, 1) if now and now % was == 0 else 1
        depth = max(pointer.depth, len(region.dims))  # a cast gives a pointer to elements
        same = kind if now else pointer.type
        return Value(pointer=Pointer(region, pointer.offset, wide * pointer.scale, depth, same))


def _advanced(pointer: Pointer, index: Value) -> Pointer:
    """Return the pointer moved by a number of its elements, or of rows."""
    stride = pointer.scale
    for size in pointer.region.dims[pointer.depth + 1 :]:
        stride *= size
    by = index.scalar
    known = pointer.offset is not None and by is not None
    return replace(pointer, offset=pointer.offset + by * stride if known else None)  # type: ignore[operator]


def _retyped(pointer: Pointer, kind: str, now: int) -> Pointer:
    """Return a pointer to elements of a shared array; bytes that are first seen as a type are cells of it."""
    region, offset = pointer.region, pointer.offset
    fresh = not region.loads and not region.stores and offset == 0
    if region.dynamic and SIZES.get(region.type, 0) == 1 and fresh and now and region.cells:
        region.cells, region.type = region.cells // now, kind
    bytewise = region.dynamic and SIZES.get(pointer.type, 0) == 1
    if bytewise and now and SIZES.get(region.type, 0) == now and (offset or 0) % now == 0:
        return replace(pointer, offset=None if offset is None else offset // now, type=kind)
    region.escaped = True
    return pointer
