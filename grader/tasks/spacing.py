"""Smaller numbers with the relations of the original ones.

Distinct numbers stay distinct and in order, and divisors stay divisors: if 256 groups of 8192 channels became 256
groups of 256, or 32 and 64 channels became 32 and 32, a wrong program could look right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import lcm

MULTIPLE = 32
COUNT = 8
"""Smaller numbers may be kernel sizes and strides as well as groups: they stay divisors, but the quotient may
change."""
QUOTIENTS = ((2**14, 2), (2**12, 4), (1, 8))
"""Largest quotient that is kept, by factor of reduction: the smallest sizes only keep divisibility."""


def most_quotient(factor: int) -> int:
    """Return the largest quotient of two numbers that is kept at a factor of reduction."""
    return next(most for least, most in QUOTIENTS if factor >= least)


def space_values(
    values: Collection[int],
    smaller: Callable[[int], int],
    most: int,
    fixed: Mapping[int, int] | None = None,
    *,
    odd: bool = False,
    close: bool = False,
) -> dict[int, int]:
    """Return a smaller number for each value, at least what `smaller` gives and at most the value.

    They are strictly in the values' order. Where one value is q times another, q <= `most`, so are the
    new ones, and for a larger q at least `most` times. `fixed` are numbers that have been chosen already;
    with `odd` all new ones are odd (one more than an even value at most), and quotients are given up. With `close`
    quotients are given up too, and powers of two only stay even: three lengths become 4, 6 and 8, where 4, 8 and 16
    cost too much.
    """
    made = dict(fixed or {})
    for value in sorted(set(values) - set(made)):
        below = [new for old, new in made.items() if old < value]
        least = max([smaller(value), *(new + 1 for new in below)])
        base = 1 if odd or close else _base(value, made)
        if base > 1:
            times = min(value // base, most if base >= COUNT else 2)
            least = max(least, made[base] * times)
        made[value] = _of_kind(value, least, made.get(base, 1), odd=odd, close=close)
    return made


def _base(value: int, made: Mapping[int, int]) -> int:
    """Return the largest smaller number that divides it; 1 where none does."""
    return max((old for old in made if 1 < old < value and value % old == 0), default=1)


def _of_kind(value: int, least: int, divisor: int, *, odd: bool, close: bool) -> int:
    """Return the first number from `least` on of the value's kind that `divisor` divides; at most the value."""
    if odd:
        return least | 1
    if least >= value:
        return value
    if close:
        return min(least + (value - least) % 2, value)
    if value & (value - 1) == 0:
        return min(1 << (least - 1).bit_length(), value)
    if divisor == 1 and (value % MULTIPLE or least < MULTIPLE):
        return least if value % 2 == least % 2 or value % 2 == 0 else min(least + 1, value)
    step = lcm(divisor, MULTIPLE) if value % MULTIPLE == 0 and least >= MULTIPLE else divisor
    found = -(-least // step) * step
    found += step if value % 2 and found % 2 == 0 else 0
    return min(found, value)
