"""Pointers of host code, and the cells of its arrays."""

from dataclasses import replace

from grader.source.cpp import Expr, Name, Node, Subscript
from grader.source.flow.machine import Statements
from grader.source.flow.memory import Region
from grader.source.flow.values import Pointer, Value, binary, unknown_value


class Pointers(Statements):
    """Addresses, and what is read and written through them."""

    def address(self, expr: Subscript) -> Pointer | None:
        """Return where `base[index]` is, or None if the base is no memory that is known."""
        pointer, index = self.eval(expr.base).pointer, self.eval(expr.index)
        return _advanced(pointer, index) if pointer is not None else None

    def move(self, left: Value, right: Value, op: str) -> Value:
        """Return pointer arithmetic's result."""
        base, by = (left, right) if left.pointer is not None else (right, left)
        if base.pointer is None or by.pointer is not None:
            return unknown_value(type_="l")
        by = binary("-", Value(0, "i"), by) if op == "-" else by
        return Value(pointer=_advanced(base.pointer, by))

    def address_of(self, expr: Expr) -> Value:
        """Return the value of `&expr`."""
        if isinstance(expr, Subscript):
            return Value(pointer=self.address(expr))
        box = self.find(expr.id) if isinstance(expr, Name) else None
        if isinstance(expr, Name) and box is not None and box.value.pointer is None:
            return Value(pointer=Pointer(Region(expr.id)), thing=box)
        return box.value if box is not None else Value()

    def escape(self, value: Value) -> None:
        """Note that memory may be accessed by something that isn't followed."""
        if value.pointer is not None:
            value.pointer.region.values.clear()
            if hasattr(value.thing, "value"):
                value.thing.value = unknown_value(value.thing.value)

    @staticmethod
    def load(pointer: Pointer | None) -> Value:
        """Read memory."""
        known = pointer.region.values if pointer is not None else {}
        at = pointer.offset if pointer is not None else None
        return known.get(at, Value()) if at is not None else Value()

    def put(self, pointer: Pointer | None, value: Value, _node: Node) -> None:
        """Write memory."""
        if pointer is None:
            return
        if pointer.offset is None or self.doubt:
            pointer.region.values.clear()
        else:
            pointer.region.values[pointer.offset] = value


def _advanced(pointer: Pointer, index: Value) -> Pointer:
    """Return the pointer moved by a number of its elements."""
    by, at = index.scalar, pointer.offset
    return replace(pointer, offset=at + by if at is not None and by is not None else None)
