"""The wrong elements of a result, by the task's and by KernelBench's tolerance.

All arithmetic is in float64 on copies, a piece at a time, without warnings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from grader.judge.inputs import Array, is_real
from grader.judge.slope import slope
from grader.judge.steps import rounded_the_other_way
from grader.judge.tolerance import CAP, KERNELBENCH, UNDERFLOW
from grader.records import Tolerance

CHUNK = 2**14
"""Elements compared at a time: intermediate arrays stay in the cache, and their memory is reused."""
NATIVE_SHARE: Final = {"float16": 4.0, "bfloat16": 4.0, "float32": 32.0, "float64": 32.0}
"""A submission may be this many times as far off as torch's own result is. One running sum is off by
many times what torch's blocked ones are; half precision, by thousands of times as much."""
LEAST_SHARE: Final = 8.0
"""The same limit where torch itself is far off (norms over few values in many layers): more only while half precision
stays clearly wrong."""


@dataclass(frozen=True)
class Pair:
    """One result and its reference, in one shape."""

    actual: Array
    exact: Array
    """In float64."""
    native: Array
    """In the task's own dtype, as torch computes it."""


def out_of_tolerance(
    actual: Array, exact: Array, native: Array, bound: Tolerance, times: float = 1.0
) -> Array:
    """Return a mask of the elements that the verdict calls wrong.

    All three have one shape: what came back, the reference in float64, and torch's result in the task's own dtype,
    whose error widens the tolerance. `times` is a factor on the tolerance.
    """
    pair, scale = Pair(actual, exact, native), root_mean_square(exact)
    return wrong_in(pair, bound, scale, times * tolerance_widening(pair, bound, scale))


def wrong_in(pair: Pair, bound: Tolerance, scale: float, widened: float) -> Array:
    """Return the mask for a scale and a widening that are known."""
    mask = wrong_elements(pair.actual, pair.exact, bound, scale, widened)
    if not mask.any():
        return (
            np.asarray(pair.exact != 0) if slope(pair.actual, pair.exact, bound, widened) else mask
        )
    if bound.one_off or bound.few:
        return mask & ~rounded_the_other_way(pair.actual, pair.exact, pair.native, bound)
    if pair.native is pair.exact or pair.native.dtype.kind in "biu":
        return mask
    # Elements that overflow in torch as well are as right as torch's.
    with np.errstate(all="ignore"):
        overflowed = np.isinf(pair.native.astype(np.float64)) & (pair.actual == pair.native)
    return np.asarray(mask & ~overflowed)


def numbers_only(pair: Pair) -> Pair:
    """Return the pair with the reference's own values where these are NaN or infinite, so that they count as right."""
    if not is_real(pair.exact) or bool(np.isfinite(pair.exact).all()):
        return pair
    actual = np.where(np.isfinite(pair.exact), pair.actual, pair.native)
    return replace(pair, actual=actual)


def root_mean_square(exact: Array) -> float:
    """Return the RMS of the finite elements; 0 for a single number, which has no other scale than itself."""
    if exact.size <= 1 or not is_real(exact):
        return 0.0
    total = count = 0.0
    for chunk in _chunks(exact):
        finite = chunk[np.isfinite(chunk)].astype(np.float64)
        # Not np.dot: BLAS keeps a thread spinning on every core, beside what is being timed.
        total += float(np.square(finite, out=finite).sum())
        count += finite.size
    return float(np.sqrt(total / count)) if count else 0.0


def wrong_elements(
    actual: Array, exact: Array, bound: Tolerance, scale: float, widened: float = 1.0
) -> Array:
    """Return a mask, in the shape of the output, of the elements that are out of tolerance."""
    mask = np.empty(exact.size, np.bool_)
    start = 0
    for a, r in zip(_chunks(actual), _chunks(exact), strict=True):
        mask[start : start + r.size] = _wrong_elements(a, r, bound, scale, widened)
        start += r.size
    return mask.reshape(exact.shape)


def _wrong_elements(a: Array, r: Array, bound: Tolerance, scale: float, widened: float) -> Array:
    if r.dtype.kind in "biu":
        return np.asarray(a != r)
    underflow = UNDERFLOW.get(str(a.dtype), 0.0)
    with np.errstate(all="ignore"):
        a, r = a.astype(np.float64), r.astype(np.float64)
        allowed = widened * (bound.absolute * scale + bound.relative * np.abs(r)) + underflow
        same = (a == r) | (np.isnan(a) & np.isnan(r))
        near = (np.abs(a - r) <= allowed) & np.isfinite(a) & np.isfinite(r)
        return np.asarray(~(same | near))


def within_kernelbench(actual: Array, native: Array) -> bool:
    """Return whether KernelBench's own tolerance passes it, compared with torch's own result."""
    return _within(actual, native, KERNELBENCH.get(str(native.dtype), 0.0))


def _within(actual: Array, native: Array, both: float) -> bool:
    """Return KernelBench's own verdict: `allclose(native, actual, atol=both, rtol=both)`.

    There, NaN equals nothing; rtol applies to the submission's value.
    """
    for a, r in zip(_chunks(actual), _chunks(native), strict=True):
        if r.dtype.kind in "biu":
            if not np.array_equal(a, r):
                return False
            continue
        with np.errstate(all="ignore"):
            a64, r64 = a.astype(np.float64), r.astype(np.float64)
            close = (a64 == r64) | (np.abs(r64 - a64) <= both + both * np.abs(a64))
            if not bool(np.all(close & ~np.isnan(a64) & (np.isfinite(a64) | (a64 == r64)))):
                return False
    return True


def tolerance_widening(pair: Pair, bound: Tolerance, scale: float) -> float:
    """Return by how much torch's own error asks the tolerance to be widened; at least 1."""
    if pair.native is pair.exact or not is_real(pair.exact):
        return 1.0
    ratio, underflow = 0.0, UNDERFLOW.get(str(pair.native.dtype), 0.0)
    for n, r in zip(_chunks(pair.native), _chunks(pair.exact), strict=True):
        with np.errstate(all="ignore"):
            n64, r64 = n.astype(np.float64), r.astype(np.float64)
            error = np.maximum(np.abs(n64 - r64) - underflow, 0.0)
            share = error / (bound.absolute * scale + bound.relative * np.abs(r64))
        share = share[np.isfinite(share)]
        ratio = max(ratio, float(share.max()) if share.size else 0.0)
    return max(1.0, _granted_tolerance(ratio, str(pair.native.dtype), bound))


def _granted_tolerance(ratio: float, dtype: str, bound: Tolerance) -> float:
    """Return how many times the tolerance is granted where torch's own error is `ratio` times as large."""
    granted = NATIVE_SHARE.get(dtype, 4.0) * ratio
    if dtype != "float32" or not bound.relative:
        return granted
    return max(min(granted, CAP / bound.relative), min(granted, LEAST_SHARE * ratio))


def _chunks(array: Array) -> list[Array]:
    flat = array.reshape(-1)
    return [flat[i : i + CHUNK] for i in range(0, flat.size, CHUNK)]
