"""What a variable can hold while a block of threads is walked through: known numbers or not.

A number is known for every thread of the block, as one scalar (the same in all threads) or as one
array with an entry a thread; floating point data is never known. What isn't known is at least known
to be the same in all threads or not (`varies`), and which threads' data went into it (`parts`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.source.flow.scalar_types import promote

Bits = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Number = int | float | npt.NDArray[Any] | None
WHOLE = (int, np.integer)


@dataclass(slots=True)
class Value:
    """One value in all the threads of a block."""

    number: Number = None
    type: str = "?"
    varies: bool = True
    """Of an unknown number: whether threads may hold different ones."""
    parts: Bits | None = None
    """Bit s of row t: data that thread s loaded is in the value of thread t."""
    reduced: int = 0
    """Where it last came through an exchange of threads, a shuffle or a shared array that they combine
    in: that exchange's place in the order of the walk (`Walk.exchanges`); 0 for none."""
    pointer: Pointer | None = None
    thing: Any = None
    """A tensor, dim3, lambda, thread group or other object."""
    loaded: bool = False
    """It depends on data from memory."""
    like: npt.NDArray[np.int64] | None = None
    """Of an unknown number that varies: threads with equal entries hold the same, whatever it is."""

    @property
    def known(self) -> bool:
        """Whether the number is known for every thread."""
        return self.number is not None

    @property
    def uniform(self) -> bool:
        """Whether all threads hold the same."""
        if self.number is None:
            return not self.varies
        return not isinstance(self.number, np.ndarray)

    @property
    def scalar(self) -> int | None:
        """The number, when it is an integer that all threads share."""
        if isinstance(self.number, WHOLE):
            return int(self.number)
        return None


@dataclass(slots=True)
class Pointer:
    """An address: a place in a memory region, in units of `scale` elements of the region."""

    region: Any
    offset: Number = 0
    varies: bool = False
    """Of an unknown offset: whether threads may hold different ones."""
    scale: int = 1
    depth: int = 0
    """How many dimensions of an array are already indexed."""
    type: str = "?"


def unknown(*sources: Value, type_: str | None = None) -> Value:
    """Return a value of which only the dependence on `sources` is known."""
    parts: Bits | None = None
    varies = loaded = False
    reduced = 0
    kind = "?"
    for source in sources:
        varies = varies or not source.uniform
        reduced = max(reduced, source.reduced)
        loaded = loaded or source.loaded
        parts = join(parts, source.parts)
        kind = promote(kind, source.type)
    like = _likeness(sources) if varies else None
    return Value(None, type_ or kind, varies, parts, reduced, loaded=loaded, like=like)


def joined(*sources: Value) -> Value:
    """Return what threads made of their values together: nobody's data lacks in it, as far as can be told."""
    out = unknown(*sources)
    out.varies, out.parts, out.reduced = True, None, 0
    return out


def likeness(value: Value) -> npt.NDArray[np.int64] | None:
    """Return a number a thread, equal where two threads surely hold the same; None: not known."""
    if value.like is not None:
        return value.like
    number = value.number
    if isinstance(number, np.ndarray) and number.ndim > 0 and number.dtype.kind in "iub":
        return number.astype(np.int64)
    return None


def divergence(value: Value) -> int:
    """Return how threads may differ in a condition: 1: not at all; 2: only from warp to warp; 3: within one."""
    if value.uniform:
        return 1
    like = likeness(value)
    warps = () if like is None else (like[i : i + 32] for i in range(0, like.size, 32))
    alike = like is not None and all((warp == warp[0]).all() for warp in warps)
    return 2 if alike else 3


def _likeness(sources: tuple[Value, ...]) -> npt.NDArray[np.int64] | None:
    """Return which threads agree in all of the sources that vary, where only one kind does."""
    found: npt.NDArray[np.int64] | None = None
    for source in sources:
        if source.uniform:
            continue
        like = likeness(source)
        if like is None or (found is not None and not np.array_equal(found, like)):
            return None
        found = like
    return found


def join(a: Bits | None, b: Bits | None) -> Bits | None:
    """Return the union of two sets of contributing threads."""
    if a is None or b is None or a is b:
        return a if b is None else b
    return np.bitwise_or(a, b)


def some(mask: Mask) -> bool:
    """Return whether any thread is in the mask; much faster than `mask.any()` on so few."""
    return bool(np.count_nonzero(mask))


def every(mask: Mask) -> bool:
    """Return whether all threads are in the mask."""
    return bool(np.count_nonzero(mask) == mask.size)


def spread(number: Any, threads: int) -> npt.NDArray[Any]:
    """Return a known number as an array with an entry a thread; don't write to it."""
    if isinstance(number, np.ndarray):
        return number if number.ndim else np.full(threads, number)
    return np.full(threads, number)


def _divide(a: Any, b: Any) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else a // b if a >= 0 < b else int(a / b)
    if np.any(np.equal(b, 0)):
        return None
    if np.all(np.greater_equal(a, 0)) and np.all(np.greater(b, 0)):
        return a // b  # type: ignore[no-any-return]
    return (
        np.trunc(np.true_divide(a, b)).astype(np.int64) if np.ndim(a) or np.ndim(b) else int(a / b)
    )


def _remainder(a: Any, b: Any) -> Number:
    quotient = _divide(a, b)
    return None if quotient is None else a - quotient * b


def _shift(a: Any, b: Any, left: bool) -> Number:
    if isinstance(b, int):
        if not 0 <= b <= 40:
            return None
    elif np.any(np.less(b, 0)) or np.any(np.greater(b, 40)):
        return None
    return (a << b) if left else (a >> b)  # type: ignore[no-any-return]


ARITHMETIC: Mapping[str, Callable[[Any, Any], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": partial(_shift, left=True),
    ">>": partial(_shift, left=False),
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


def binary(op: str, a: Value, b: Value) -> Value:
    """Return `a op b` in every thread."""
    kind = "b" if op in COMPARISONS else promote(a.type, b.type)
    if (
        a.number is None
        or b.number is None
        or isinstance(a.number, float)
        or isinstance(b.number, float)
    ):
        zero = op in {"*", "&"} and (_is_zero(a) or _is_zero(b)) and kind in "iulb"
        return Value(0, kind) if zero else unknown(a, b, type_=kind)
    operation = ARITHMETIC.get(op)
    try:
        number = operation(a.number, b.number) if operation is not None else None
    except (TypeError, ValueError, OverflowError):
        return unknown(a, b, type_=kind)
    if number is None:
        return unknown(a, b, type_=kind)
    if isinstance(number, int) and abs(number) > 1 << 62:
        return Value(None, kind, varies=False)
    return Value(number, kind, False)


def _is_zero(value: Value) -> bool:
    return isinstance(value.number, int) and value.number == 0


def truth(value: Value) -> bool | Mask | None:
    """Return whether a value counts as true: for all threads, a thread, or not known."""
    if value.number is None:
        return None
    if not isinstance(value.number, np.ndarray):
        return bool(value.number)
    held: Mask = np.asarray(value.number != 0)
    count = np.count_nonzero(held)
    return held if 0 < count < held.size else bool(count)


def blend(old: Value, new: Value, mask: Mask) -> Value:
    """Return `new` where the mask holds and `old` elsewhere."""
    parts = None
    if old.parts is not None or new.parts is not None:
        zero = np.zeros((1, 1), np.uint64)
        left = zero if new.parts is None else new.parts
        right = zero if old.parts is None else old.parts
        parts = np.where(mask[:, None], left, right)
    out = Value(
        None,
        new.type if new.type != "?" else old.type,
        True,
        parts,
        max(old.reduced, new.reduced),
        new.pointer if new.pointer is not None else old.pointer,
        new.thing if new.thing is not None else old.thing,
        old.loaded or new.loaded,
    )
    if old.number is not None and new.number is not None:
        out.number = np.where(mask, new.number, old.number)
    elif old.like is not None or new.like is not None:
        out.like = _blended_likeness(old, new, mask)
    return out


def _blended_likeness(old: Value, new: Value, mask: Mask) -> npt.NDArray[np.int64] | None:
    """Return which threads agree: of the same side, and alike there."""
    sides = [np.int64(0) if side.uniform else likeness(side) for side in (old, new)]
    if sides[0] is None or sides[1] is None:
        return None
    return np.where(mask, 2 * sides[1] + 1, 2 * sides[0])


def merge(old: Value, new: Value, varying: bool) -> Value:
    """Return what holds when it isn't known whether `new` replaced `old`."""
    out = unknown(old, new)
    out.varies = out.varies or varying
    out.pointer = new.pointer if new.pointer is not None else old.pointer
    out.thing = new.thing if new.thing is not None else old.thing
    if old.number is not None and new.number is not None:
        same = np.array_equal(old.number, new.number)
        out.number = new.number if same else None
    return out
