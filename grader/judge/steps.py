"""Results that are rounded to few values: whole numbers, 8-bit floats. A tie may fall to either side."""

from __future__ import annotations

import numpy as np

from grader.judge.inputs import Array
from grader.records import Tolerance

NATIVE_TIMES = 4.0
"""A submission may be a step off in so many times as many elements as torch's own result is."""


def rounded_the_other_way(actual: Array, exact: Array, native: Array, bound: Tolerance) -> Array:
    """Return a mask of the elements that are one step of their type off, if they are few; else of none.

    x / s and x * (1 / s) differ in the last bit, so what lies between two values becomes one or the other.
    """
    nothing = np.zeros(actual.shape, np.bool_)
    if not bound.one_off:
        return nothing
    off, known = _one_step_off(actual, exact), _one_step_off(native, exact)
    share = max(bound.one_off, NATIVE_TIMES * float(known.mean())) if off.size else 0.0
    return off if off.sum() <= max(share * off.size, 1.0) else nothing


def _one_step_off(array: Array, exact: Array) -> Array:
    steps = np.abs(_place(array) - _place(exact.astype(array.dtype)))
    return np.asarray((steps == 1) & np.isfinite(array.astype(np.float64)))


def _place(array: Array) -> Array:
    """Return where each value stands among all of its type, in their order."""
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    bits = array.view(np.uint8).astype(np.int64)
    return np.where(bits & 0x80, -(bits & 0x7F), bits & 0x7F)
