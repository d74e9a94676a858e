"""Common patterns of wrong elements: a value, a factor, a region, a period, another layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from grader.judge.inputs import Array
from grader.judge.regions import regions
from grader.judge.wrong import Wrong
from grader.records import Evidence, WrongValues

MOST = 0.98
"""Share of the wrong elements that must agree before a pattern is said to hold."""
STEADY = 2e-3
"""Relative spread under which a ratio counts as constant."""
LAYOUT_LIMIT = 2**24
"""Elements up to which shifted and transposed copies are tried."""


def patterns(wrong: Wrong) -> tuple[Evidence, ...]:
    """Return the patterns that hold: first those of values, then those of places."""
    with np.errstate(all="ignore"):
        return (*_value_pattern(wrong), *regions(wrong.mask, wrong.evidence))


def _value_pattern(wrong: Wrong) -> Iterable[Evidence]:
    """Yield the first pattern of values that explains most of the wrong elements."""
    for look in _LOOKS:
        found = look(wrong)
        if found is not None:
            yield found
            return


def _nonfinite(wrong: Wrong) -> Evidence | None:
    share = float(np.mean(np.isnan(wrong.a)))
    if share >= 0.5:
        return _not_a_number(wrong, share)
    infinite = float(np.mean(np.isinf(wrong.a)))
    if infinite >= 0.5:
        return wrong.evidence("infinite", f"{_share(infinite)} of the wrong are infinite")
    return None


def _not_a_number(wrong: Wrong, share: float) -> Evidence:
    values = wrong.actual.reshape(-1)[wrong.index]
    width = values.dtype.itemsize
    bits = np.ascontiguousarray(values[np.isnan(wrong.a)]).view(f"u{width}")
    pattern = f"0x{int(bits[0]):0{2 * width}x}"
    text = f"{_share(share)} of the wrong are NaN"
    one = bool((bits == bits[0]).all())
    for code, (fill, whose) in _FILLS.items():
        if one and int(bits[0]) == fill & (1 << 8 * width) - 1:
            text = f"{text}, all with the bits {pattern} that {whose} here"
            return wrong.evidence(code, text, WrongValues(share=share, bits=pattern))
    if one and int(bits[0]) not in _COMPUTED_NAN.get(width, ()):
        text = f"{text}, all with the bits {pattern} of memory that nothing was written to"
        return wrong.evidence("unwritten", text, WrongValues(share=share, bits=pattern))
    return wrong.evidence("nan", text, WrongValues(share=share))


OUTSIDE = 0x7FFB7FFB7FFB7FFB
"""Value read outside of all allocations: `outside_poison` in simulator/native/sim.hpp."""
UNSET = 0x7FF97FF97FF97FF9
"""Value of an uninitialised variable: `unset_poison` there."""
_FILLS = {
    "outside": (OUTSIDE, "a read outside of all memory gives"),
    "unset": (UNSET, "a variable without a start value has"),
}
"""The simulator's fill patterns other than that of unwritten memory, by the pattern's code."""
_COMPUTED_NAN = {
    2: (0x7FFF, 0xFE00, 0xFFC0),
    4: (0x7FFFFFFF, 0xFFC00000, 0x7FFFE000, 0x7FFF0000),
    8: (0x7FFFFFFFFFFFFFFF, 0xFFF8000000000000, 0x7FFFFFFFE0000000),
}
"""Bits of the NaNs that arithmetic gives, on a GPU and on x86, by width in bytes, those of narrower types made wider
among them; a guest fills fresh memory with other ones (`grader.guest.placement`)."""


FINE = 1e-4
"""Errors, relative to the size, below which no rounding to half precision is seen."""


def _half(wrong: Wrong) -> Evidence | None:
    """Recognise small errors of both signs, as from half precision, TF32 or sums in half precision, or very small errors of any sign."""
    if not (wrong.half or wrong.half_sums):
        return None
    error = wrong.a - wrong.r
    biased = abs(float(error.mean())) > 0.7 * float(np.abs(error).mean())
    relative = np.abs(error) / np.maximum(np.abs(wrong.r), wrong.scale)
    steady = wrong.a.size > 8 and _constant_ratio(wrong) is not None
    worst = float(relative.max())
    if steady or (biased and wrong.a.size > 64 and worst > FINE):
        return None
    # For these values only: all workloads together decide whether the program is right to half precision.
    digits = "" if worst > FINE else f": {int(-np.log10(worst))} digits are right"
    text = f"errors up to {worst:.2g} of the size{digits}"
    code = "half-precision" if wrong.half else "half-sums"
    return wrong.evidence(code, text, WrongValues(error=worst))


def _zeros(wrong: Wrong) -> Evidence | None:
    share = float(np.mean(wrong.a == 0))
    if share < MOST:
        return None
    whole = not bool(wrong.actual.any())
    text = "the whole output is zero" if whole else f"{_share(share)} of the wrong are zero"
    return wrong.evidence("zeros", text, WrongValues(share=share, whole=whole))


def _one_value(wrong: Wrong) -> Evidence | None:
    value = float(np.median(wrong.a))
    share = float(np.mean(wrong.a == value))
    if share < MOST or wrong.a.size < 4 or np.ptp(wrong.r) == 0:
        return None
    return wrong.evidence(
        "constant-value",
        f"{_share(share)} of the wrong are {value:.6g}",
        WrongValues(value=value, share=share),
    )


def _input(wrong: Wrong) -> Evidence | None:
    for number, array in enumerate(wrong.inputs):
        if array.shape == wrong.actual.shape and array.dtype.kind in "fiub":
            values = array.reshape(-1)[wrong.index].astype(np.float64)
            if float(np.mean(values == wrong.a)) >= MOST:
                return wrong.evidence(
                    "input-returned",
                    f"the wrong elements are those of input {number + 1}",
                    WrongValues(input=number),
                )
    return None


def _constant_ratio(wrong: Wrong) -> float | None:
    """Return the factor a / r where one holds for most of the wrong elements."""
    usable = np.abs(wrong.r) > max(1e-3 * wrong.scale, np.finfo(np.float64).tiny)
    usable &= np.isfinite(wrong.a)
    if usable.sum() < max(4, usable.size // 2):
        return None
    ratio = wrong.a[usable] / wrong.r[usable]
    factor = float(np.median(ratio))
    spread = np.abs(ratio - factor)
    if factor in {0, 1}:
        return None
    if float(np.mean(spread < min(STEADY * abs(factor), 0.1 * abs(factor - 1)))) < MOST:
        return None
    return factor


def _factor(wrong: Wrong) -> Evidence | None:
    if wrong.factor is not None:
        text = f"all together they are {wrong.factor:.4g} times the reference, and roundings have no direction"
        return wrong.evidence("constant-factor", text, WrongValues(factor=wrong.factor))
    factor = _single_ratio(wrong) if wrong.exact.size == 1 else _constant_ratio(wrong)
    if factor is None:
        return None
    if abs(factor + 1) < STEADY:
        return wrong.evidence(
            "sign-flip", "every wrong element has the other sign", WrongValues(factor=factor)
        )
    text = f"the wrong are {factor:.6g} times the reference{_meaning(wrong, factor)}"
    text = f"{_not_finite_first(wrong)}{text}"
    return wrong.evidence("constant-factor", text, WrongValues(factor=factor))


def _single_ratio(wrong: Wrong) -> float | None:
    """Return a single number's ratio where it has a meaning, since any one number has a ratio."""
    factor = float(wrong.a[0] / wrong.r[0]) if wrong.r[0] else float("nan")
    telling = np.isfinite(factor) and (abs(factor + 1) < STEADY or _meaning(wrong, factor))
    return factor if telling else None


def _meaning(wrong: Wrong, factor: float) -> str:
    """Return the likely meaning of the factor: a length that was (not) divided by."""
    size = abs(factor)
    for n, what in sorted(_lengths(wrong).items()):
        forms = ((n, f"{n}"), (1 / n, f"1/{n}"), (n**0.5, f"sqrt({n})"), (n**-0.5, f"1/sqrt({n})"))
        for value, text in forms:
            if abs(size / value - 1) < STEADY:
                plain = what if text == str(n) else f"{text}, where {n} is {what}"
                return f" ({plain if what else text})"
    return ""


def _lengths(wrong: Wrong) -> dict[int, str]:
    """Return the lengths that a program may forget to divide by, each with its name."""
    found = dict.fromkeys((32, 64, 128, 256, 512, 1024), "")
    for number, array in enumerate(wrong.inputs, 1):
        found |= {array.size: f"the number of elements of input {number}"}
    for number, array in reversed([*enumerate(wrong.inputs, 1)]):
        for dim, n in enumerate(array.shape):
            found[n] = f"the size of dim {dim} of input {number}"
    found |= {n: found.get(n, "") for n in wrong.exact.shape}
    return {n: what for n, what in found.items() if n > 1}


def _offset(wrong: Wrong) -> Evidence | None:
    difference = wrong.a - wrong.r
    value = float(np.median(difference))
    if wrong.a.size < 4 or not np.isfinite(value) or value == 0:
        return None
    if float(np.mean(np.abs(difference - value) <= STEADY * abs(value))) < MOST:
        return None
    text = f"the wrong are off by {value:+.6g} each"
    return wrong.evidence("constant-offset", text, WrongValues(offset=value))


def _factor_by_dim(wrong: Wrong) -> Evidence | None:
    """One factor for each index along some dims: a statistic of that slice is wrong."""
    shape = wrong.exact.shape
    if len(shape) < 2 or wrong.a.size < 64:
        return None
    good = (np.abs(wrong.r) > 1e-3 * wrong.scale) & np.isfinite(wrong.a)
    where = np.unravel_index(wrong.index[good], shape)
    ratio = wrong.a[good] / wrong.r[good]
    if not ratio.size:
        return None
    # Nearly right values have a steady ratio too, which isn't evidence of a factor.
    steady = min(STEADY, 0.1 * float(np.median(np.abs(ratio - 1))))
    for free in range(len(shape) - 1, -1, -1):
        kept = [d for d in range(len(shape)) if d != free]
        key = np.ravel_multi_index([where[d] for d in kept], [shape[d] for d in kept])
        spread = _spread_within(key, ratio)
        if spread is not None and spread < steady:
            name = "row" if free == len(shape) - 1 else f"slice along dim {free}"
            low, high = float(np.min(ratio)), float(np.max(ratio))
            span = f"from {low:.4g} to {high:.4g}"
            if f"{low:.4g}" == f"{high:.4g}":
                span = f"about {low:.4g}"
            text = f"each {name} has its own constant factor, {span}"
            text = f"{_not_finite_first(wrong)}{text}"
            return wrong.evidence("row-factor", text, WrongValues(dim=free, low=low, high=high))
    return None


def _spread_within(key: Array, ratio: Array) -> float | None:
    """Return the 98th percentile of the ratios' relative distance to their group's median."""
    order = np.argsort(key, kind="stable")
    key, ratio = key[order], ratio[order]
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    sizes = np.diff(np.r_[starts, key.size])
    if sizes.size == 0 or np.mean(sizes) < 4:
        return None
    middle = ratio[starts + sizes // 2]
    distance = np.abs(ratio / np.repeat(middle, sizes) - 1)
    return float(np.quantile(distance, MOST))


def _layout(wrong: Wrong) -> Evidence | None:
    """Recognise the right values at other places: transposed, or shifted by one along a dim."""
    shape = wrong.exact.shape
    if not shape or wrong.exact.size > LAYOUT_LIMIT or wrong.exact.size < 4:
        return None
    scale = min(wrong.scale, float(np.median(np.abs(wrong.a))))  # of results that span decades
    for code, text, moved in _moved_results(wrong.exact):
        values = moved.reshape(-1)[wrong.index].astype(np.float64)
        close = np.abs(values - wrong.a) <= 1e-4 * (np.abs(values) + scale)
        if float(np.mean(close)) >= 0.9 and np.ptp(values) > 0:
            return wrong.evidence(code, text)
    return None


def _moved_results(exact: Array) -> Iterable[tuple[str, str, Array]]:
    for first in range(exact.ndim - 1):
        for second in range(first + 1, exact.ndim):
            swapped = np.ascontiguousarray(np.swapaxes(exact, first, second))
            text = f"the wrong hold the reference's values with dims {first} and {second} swapped"
            yield "transposed", text, swapped
    for dim in range(exact.ndim):
        for step in (1, -1):
            if exact.shape[dim] > 2:
                other = "previous" if step > 0 else "next"
                text = f"the wrong hold the reference's values of the {other} index of dim {dim}"
                yield "shifted", text, np.roll(exact, step, axis=dim)


_LOOKS: tuple[Callable[[Wrong], Evidence | None], ...] = (
    _nonfinite,
    _zeros,
    _half,
    _input,
    _factor,
    _one_value,
    _offset,
    _factor_by_dim,
    _layout,
)


def _not_finite_first(wrong: Wrong) -> str:
    """Return a clause on the share of NaN and infinities, before a statement about the others."""
    fraction = float(np.mean(~np.isfinite(wrong.a)))
    return (
        f"{_share(fraction)} of the wrong are NaN or infinite; for the rest, " if fraction else ""
    )


def _share(fraction: float) -> str:
    return "all" if fraction == 1 else f"{100 * fraction:.3g}%"
