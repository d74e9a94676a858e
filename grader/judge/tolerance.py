"""Tolerances, derived from dtype and reduction length, with the reason in words."""

from __future__ import annotations

import re
from math import prod, sqrt
from typing import Final

from grader.errors import GraderError
from grader.records import Task, TensorSpec, Tolerance, Workload

UNIT_ROUNDOFF: Final = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
}
UNDERFLOW: Final = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "float16": 2.0**-24,
    "bfloat16": 2.0**-126,
}
"""Absolute error allowed at any magnitude: below the smallest normal number a GPU may flush to zero (`-use_fast_math`),
and a subnormal has few digits. float16 is never flushed; its subnormals are that far apart."""
KERNELBENCH: Final = {"float64": 1e-4, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
"""atol and rtol of KernelBench's `torch.allclose` by precision (`get_tolerance_for_precision`)."""
ROUNDINGS: Final = 320.0
"""Roundings allowed to a program besides its sum: 2e-5 in float32. It covers the fast intrinsics (`__expf`, `rsqrtf`,
`__fdividef`: a few ulp each), and stays 12 times under half precision's mean rounding error of 2^-12."""
TERMS: Final = 2.0
"""Factor on the square root of the number of terms of a sum. One running sum of n terms, the worst honest order, is off
by about u * sqrt(n) / 4 (one standard deviation; Higham & Mary, A new approach to probabilistic rounding error
analysis, 2019): this is eight of them."""
CAP: Final = 2.0**-12
"""In float32 no sum may be off by more than half of half precision's unit roundoff."""
RESULT_ROUNDINGS: Final = 4.0
"""Roundings to half precision allowed to a program whose sums are kept in float32: of its result, and of intermediate
values. A running sum of n terms in half precision itself is off by u * sqrt(n) / 4 (one standard deviation), so that
the worst of thousands of results shows from n = 64 on."""
MOST_ROUNDED: Final = 0.25
"""What is further off, relative to the size, is not explained by rounding."""
ONE_OFF: Final = 1e-2
"""Share of 8-bit floats that may be the neighbour of the right one: a program that cuts off instead
of rounding is one off in half of them."""

_FACTOR = re.compile(r"(?:d(?P<dim>\d+)|(?P<number>\d+))\Z")


def reduction_length(task: Task, workload: Workload) -> int:
    """Return the number of terms summed in one output of `workload`, at least 1.

    Raises GraderError for a formula that the workload's first input doesn't have the dims for.
    """
    first = next((item.shape for item in workload.inputs if isinstance(item, TensorSpec)), ())
    length = 1
    for factor in filter(None, task.reduction_length.replace(" ", "").split("*")):
        match = _FACTOR.match(factor)
        if match is None or (match["dim"] and int(match["dim"]) >= len(first)):
            raise GraderError(f"task {task.name}: no reduction length from {factor!r}")
        length *= first[int(match["dim"])] if match["dim"] else int(match["number"])
    return max(length, _gradient_length(workload, length), 1)


def _gradient_length(workload: Workload, length: int) -> int:
    """Return the number of terms in one element of a gradient: all products of the results, shared among the inputs' elements.

    A product of M x K by K x N has M * N * K of them, and N for each element of the first gradient. 0 where no gradient
    is requested.
    """
    asked = workload.backward
    if asked is None:
        return 0
    given = [
        prod(i.shape) for i in workload.inputs if isinstance(i, TensorSpec) and "float" in i.dtype
    ]
    inputs, upstream = given[: -asked.upstream], given[-asked.upstream :]
    return sum(upstream) * length // max(min(inputs, default=1), 1)


def tolerance(task: Task, workload: Workload, dtype: str) -> Tolerance:
    """Return the tolerance of an output of `dtype` against the float64 reference.

    With n terms a float32 sum in any order has an error near u * sqrt(n) of its terms' size, so
    relative = u * (320 + 2 * sqrt(n)), at most 2^-12; the absolute part, in units of the output's
    root mean square, is the same: what cancels is as uncertain as what it was made of. In half precision
    that is what the accumulator in float32 leaves, and four roundings of the result come to it.
    """
    if task.tolerance is not None:
        return task.tolerance
    if dtype.startswith("float8"):
        why = f"{dtype} results are rounded to few values: {ONE_OFF:.0%} may be one step off"
        return Tolerance(relative=0.0, absolute=0.0, one_off=ONE_OFF, why=why)
    if dtype not in UNIT_ROUNDOFF:
        return Tolerance(relative=0.0, absolute=0.0, why=f"{dtype} results must be equal exactly")
    unit = UNIT_ROUNDOFF[dtype]
    terms = reduction_length(task, workload)
    if dtype in {"float16", "bfloat16"}:
        bound = RESULT_ROUNDINGS * unit + _of_sum(terms, "float32")
        why = f"{dtype} rounds to {unit:.1e}; four roundings and a sum of {terms} terms in float32"
    else:
        bound = _of_sum(terms, dtype)
        why = (
            f"{dtype} rounds to {unit:.1e}; {ROUNDINGS:.0f} roundings (fast intrinsics included) "
            f"and eight standard deviations of one running sum of {terms} terms"
        )
    return Tolerance(
        relative=bound,
        absolute=bound,
        why=f"{why}: |a - r| <= {bound:.2g} * (|r| + RMS of the reference in float64)",
    )


def _of_sum(terms: int, dtype: str) -> float:
    """Return the allowed relative error of a sum in float32 or float64."""
    bound = UNIT_ROUNDOFF[dtype] * (ROUNDINGS + TERMS * sqrt(terms))
    return min(bound, CAP) if dtype == "float32" else bound


def half_tolerance(dtype: str) -> Tolerance | None:
    """Return the tolerance at which a float32 or float64 result counts as right to half precision."""
    if dtype not in {"float32", "float64"}:
        return None
    return Tolerance(
        relative=1e-2, absolute=1e-2, why="what float16, bfloat16 or TF32 arithmetic leaves"
    )


def half_sum_tolerance(dtype: str, terms: int) -> Tolerance | None:
    """Return the level under which a result in half precision is right but for sums of so many terms that were kept in it."""
    if dtype not in {"float16", "bfloat16"}:
        return None
    unit = UNIT_ROUNDOFF[dtype]
    bound = min(unit * (2 * RESULT_ROUNDINGS + TERMS * sqrt(terms)), MOST_ROUNDED)
    return Tolerance(relative=bound, absolute=bound, why=f"what sums in {dtype} leave")


def element_count(workload: Workload) -> int:
    """Return the number of elements of all inputs of `workload`."""
    return sum(prod(item.shape) for item in workload.inputs if isinstance(item, TensorSpec))
