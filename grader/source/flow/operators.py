"""Operators and casts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.source.flow.memory import Shadow
from grader.source.flow.scalar_types import SIZES, VECTORS, type_letter
from grader.source.flow.tree import (
    Binary,
    Cast,
    Select,
    Unary,
)
from grader.source.flow.values import (
    Number,
    Pointer,
    Value,
    binary,
    blend,
    divergence,
    merge,
    some,
    truth,
    unknown,
)
from grader.source.flow.variables import Variables


class Operators(Variables):
    """What operators give in every thread, and what they must not do."""

    def _binary(self, expr: Binary) -> Value:
        if expr.op in {"&&", "||", "and", "or"}:
            return self._logical(expr)
        left, right = self.eval(expr.left), self.eval(expr.right)
        if left.pointer is not None or right.pointer is not None:
            if expr.op in {"+", "-"}:
                return self.move(left, right, expr.op)
            return unknown(left, right, type_="b")
        out = binary(expr.op, left, right)
        self.check_arithmetic(expr, left, right, out)
        return out

    def check_arithmetic(self, expr: Binary, left: Value, right: Value, out: Value) -> None:
        """Note 32-bit results that don't fit, and double operations in float code."""
        if out.type in {"i", "u"}:
            if expr.op in {"+", "*", "<<"}:
                self.check_fits(out, out.type, expr.node)
        elif (left.type == "d") != (right.type == "d") and "f" in {left.type, right.type}:
            self.emit("double-math", expr.node, data={"op": expr.op, "loops": len(self.loops)})

    def _logical(self, expr: Binary) -> Value:
        both = expr.op in {"&&", "and"}
        left = self.eval(expr.left)
        held = truth(left)
        if isinstance(held, bool):
            if held is not both:
                return Value(int(held), "b", False)
            return self._as_bool(self.eval(expr.right))
        saved, doubt = self.mask, self.doubt
        if held is None:
            self.doubt = max(doubt, divergence(left))
        else:
            self.mask = saved & (held if both else ~held)
        right = self.eval(expr.right) if some(self.mask) else Value(int(not both), "b", False)
        self.mask, self.doubt = saved, doubt
        other = truth(right)
        if isinstance(other, bool) and other is not both:
            return (
                Value(int(other), "b", False)
                if held is None
                else Value(
                    np.where(held, other, not both) if both else np.where(held, True, other), "b"
                )
            )
        if held is None or other is None:
            return unknown(left, right, type_="b")
        joined = np.logical_and(held, other) if both else np.logical_or(held, other)
        return Value(joined, "b")

    @staticmethod
    def _as_bool(value: Value) -> Value:
        held = truth(value)
        if held is None:
            return unknown(value, type_="b")
        return Value(int(held) if isinstance(held, bool) else held, "b", False)

    def _select(self, expr: Select) -> Value:
        test = self.eval(expr.test)
        held = truth(test)
        if isinstance(held, bool):
            return self.eval(expr.yes if held else expr.no)
        saved, doubt = self.mask, self.doubt
        if held is None:
            self.doubt = max(doubt, divergence(test))
            yes, no = self.eval(expr.yes), self.eval(expr.no)
            self.doubt = doubt
            out = merge(yes, no, not test.uniform)
            out.loaded = out.loaded or test.loaded
            return out
        self.mask = saved & held
        yes = self.eval(expr.yes) if some(self.mask) else Value(0, "?", False)
        self.mask = saved & ~held
        no = self.eval(expr.no) if some(self.mask) else Value(0, "?", False)
        self.mask = saved
        return blend(no, yes, held)

    def _unary(self, expr: Unary) -> Value:
        if expr.op == "&":
            return self.address_of(expr.operand)
        if expr.op == "*":
            value = self.eval(expr.operand)
            if value.pointer is None:
                return unknown(value)
            return self.load(value.pointer, expr.node)
        value = self.eval(expr.operand)
        if value.number is None:
            return unknown(value, type_="b" if expr.op == "!" else None)
        if expr.op == "-":
            return Value(-value.number, value.type, False)
        if expr.op == "!":
            return Value(
                np.logical_not(value.number)
                if isinstance(value.number, np.ndarray)
                else int(not value.number),
                "b",
                False,
            )
        if expr.op == "~" and not isinstance(value.number, float):
            return Value(~value.number, value.type, False)
        return value

    def _cast(self, expr: Cast) -> Value:
        value = self.eval(expr.operand)
        kind = self.type_name(expr.type)
        if expr.pointer:
            self.cast_node = expr.node
            return self._cast_pointer(value, kind)
        letter = type_letter(kind)
        number = value.number
        if letter in "iul" and isinstance(number, float):
            number = int(number)
        return Value(
            number,
            letter if letter != "?" else value.type,
            value.varies,
            value.parts,
            value.reduced,
            None,
            value.thing,
            value.loaded,
            value.like,
        )

    def _cast_pointer(self, value: Value, kind: str) -> Value:
        pointer = value.pointer
        if pointer is None:
            return value
        was, now = SIZES.get(pointer.type, 4), SIZES.get(kind, 0)
        if pointer.region.space == "shared" and (was != now or now == 0):
            pointer = self._recast_shared(pointer, kind, now)
            was = SIZES.get(pointer.type, 4)
        scale = max(now // was, 1) * pointer.scale if now and now % was == 0 else pointer.scale
        if kind in VECTORS and now // max(was, 1) > 1:
            self.note_vector(pointer, now // was)
        same = kind if now else pointer.type
        depth = max(pointer.depth, len(pointer.region.dims))  # a cast gives a pointer to elements
        return Value(
            None,
            varies=False,
            pointer=Pointer(pointer.region, pointer.offset, pointer.varies, scale, depth, same),
        )

    def _recast_shared(self, pointer: Pointer, kind: str, now: int) -> Pointer:
        """Return the pointer to elements; bytes that are first seen as some type are cells of it."""
        region = pointer.region
        fresh = region.shadow is not None and not region.shadow.state.any() and pointer.offset == 0
        raw = region.dynamic and SIZES.get(region.type, 0) == 1
        if raw and fresh and now and region.cells is not None:
            region.cells = region.cells // now
            region.type = kind
            region.shadow = Shadow(region.cells, self.words)
            return replace(pointer, type=kind)
        bytewise = region.dynamic and SIZES.get(pointer.type, 0) == 1
        if bytewise and now and SIZES.get(region.type, 0) == now and _divides(now, pointer.offset):
            offset = None if pointer.offset is None else pointer.offset // now
            return replace(pointer, offset=offset, type=kind)
        region.escaped = True
        return pointer


def _divides(size: int, offset: Number) -> bool:
    """Whether an offset in bytes, in every thread, is one in elements of a size; unknown ones are."""
    return offset is None or bool(np.all(np.asarray(offset) % size == 0))
