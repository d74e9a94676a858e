"""Results that rounding decides: whole numbers, 8-bit floats, choices. A tie may be rounded to either side."""

from __future__ import annotations

import numpy as np

from grader.judge.inputs import Array, is_real
from grader.records import Tolerance

NATIVE_TIMES = 4.0
"""A submission may be one step off in this many times as many elements as torch's own result."""


def rounded_the_other_way(actual: Array, exact: Array, native: Array, bound: Tolerance) -> Array:
    """Return a mask of the elements that are one step of their type off, or another choice, if they are few; else an empty mask.

    x / s and x * (1 / s) differ in the last bit, so a value halfway between two becomes one or the other.
    """
    if is_real(actual) and actual.dtype.itemsize > 1:
        return np.zeros(actual.shape, np.bool_)
    how = _one_step_off if bound.one_off else np.not_equal
    off, known = how(actual, exact), how(native, exact)
    share = max(bound.one_off or bound.few, NATIVE_TIMES * float(known.mean()))
    least = 1 if bound.one_off else 0
    return np.asarray(off if off.sum() <= max(int(share * off.size), least) else np.zeros_like(off))


def _one_step_off(array: Array, exact: Array) -> Array:
    steps = np.abs(_place(array) - _place(exact.astype(array.dtype)))
    return np.asarray((steps == 1) & np.isfinite(array.astype(np.float64)))


def _place(array: Array) -> Array:
    """Return the rank of each value among all values of its type."""
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    bits = array.view(np.uint8).astype(np.int64)
    return np.where(bits & 0x80, -(bits & 0x7F), bits & 0x7F)
