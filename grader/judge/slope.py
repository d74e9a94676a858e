"""Detection of a factor between a low-precision result and the reference: rounding errors average out, a factor doesn't."""

from __future__ import annotations

from typing import Final

import numpy as np

from grader.judge.inputs import Array
from grader.judge.tolerance import RESULT_ROUNDINGS, UNDERFLOW, UNIT_ROUNDOFF
from grader.records import Tolerance

SHARED: Final = 1.5
"""Unit roundoffs that all elements may be off by together: two results that are cut off instead of
rounded (0.67 each), or a factor that all share, kept in the type itself (at most 1)."""
DEVIATIONS: Final = 4.0
"""Standard deviations allowed for the mean of independent roundings, each taken as one unit."""
COARSE: Final = frozenset({"float16", "bfloat16"})


def slope(actual: Array, exact: Array, bound: Tolerance, widened: float = 1.0) -> float:
    """Return sum(a * r) / sum(r * r) - 1 where that is more than rounding explains; 0 otherwise.

    With N = sum(r^2)^2 / sum(r^4), the number of elements that count, what is allowed is u * (1.5 + 4 / sqrt(N)), and what
    the tolerance grants the sum of terms.
    """
    name = str(actual.dtype)
    if name not in COARSE:
        return 0.0
    a, r = actual.reshape(-1).astype(np.float64), exact.reshape(-1).astype(np.float64)
    both = np.isfinite(a) & np.isfinite(r)
    a, r = a[both], r[both]
    squares = np.square(r)
    total = float(squares.sum())
    if not total:
        return 0.0
    unit = UNIT_ROUNDOFF[name]
    spread = DEVIATIONS * float(np.sqrt(np.square(squares / total).sum()))
    of_sum = max(bound.relative - RESULT_ROUNDINGS * unit, 0.0)
    flushed = UNDERFLOW[name] * float(np.abs(r).sum()) / total
    allowed = widened * (unit * (SHARED + spread) + of_sum) + flushed
    found = float((a * r).sum()) / total - 1.0
    return found if abs(found) > allowed else 0.0
