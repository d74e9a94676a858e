"""What a variable can hold while code is followed: a known number or not, a pointer, or an object.

Whole numbers are known where the text tells them; data from memory never is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.source.scalar_types import promote

Number = int | float | None


@dataclass(slots=True)
class Value:
    """One value."""

    number: Number = None
    type: str = "?"
    pointer: Pointer | None = None
    thing: Any = None
    """A tensor, dim3, lambda or other object."""

    @property
    def scalar(self) -> int | None:
        """The number, when it is a known integer."""
        return int(self.number) if isinstance(self.number, int) else None


@dataclass(slots=True)
class Pointer:
    """An address: a place in a memory region, in elements."""

    region: Any
    offset: int | None = 0


def unknown_value(*sources: Value, type_: str | None = None) -> Value:
    """Return a value of which only the type is known."""
    out = Value()
    for source in sources:
        out.type = promote(out.type, source.type)
    out.type = type_ or out.type
    return out


def _divide(a: int, b: int) -> int | None:
    if b == 0:
        return None
    return a // b if (a >= 0) == (b > 0) else -(abs(a) // abs(b))


def _remainder(a: int, b: int) -> int | None:
    quotient = _divide(a, b)
    return None if quotient is None else a - quotient * b


ARITHMETIC: Mapping[str, Callable[[Any, Any], int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": lambda a, b: a << b if 0 <= b <= 40 else None,
    ">>": lambda a, b: a >> b if 0 <= b <= 40 else None,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""C's rules for integers; None where a result has no value."""
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
LARGEST = 1 << 62


def binary(op: str, a: Value, b: Value) -> Value:
    """Return `a op b`."""
    kind = "b" if op in COMPARISONS else promote(a.type, b.type)
    left, right, operation = a.number, b.number, ARITHMETIC.get(op)
    if isinstance(left, int) and isinstance(right, int) and operation is not None:
        number = operation(left, right)
        if number is not None and abs(number) <= LARGEST:
            return Value(int(number), kind)
    elif op in {"*", "&"} and 0 in (a.scalar, b.scalar) and kind in "iulb":
        return Value(0, kind)
    return unknown_value(a, b, type_=kind)


def truth(value: Value) -> bool | None:
    """Return whether a value counts as true; None: not known."""
    return None if value.number is None else bool(value.number)


def merge(old: Value, new: Value) -> Value:
    """Return what holds when it isn't known whether `new` replaced `old`."""
    out = unknown_value(new, old)
    out.pointer = new.pointer if new.pointer is not None else old.pointer
    out.thing = new.thing if new.thing is not None else old.thing
    out.number = new.number if old.number == new.number else None
    return out


def converted(value: Value, type_: str) -> Value:
    """Return a value as a variable of a type holds it."""
    if type_ in {"?", value.type}:
        return value
    number = value.number
    if type_ in "iul" and isinstance(number, float):
        number = int(number)
    return replace(value, number=number, type=type_)


def forgotten(value: Value) -> Value:
    """Return a value of which a loop has made another one, nobody knows which."""
    out, pointer = unknown_value(value), value.pointer
    if pointer is not None:
        out.pointer = Pointer(pointer.region, None)
    out.thing = value.thing
    return out
