"""Smaller numbers that are to one another as the original ones were.

What was distinct stays distinct and in its order, and what divided another still divides it: with 256 groups
of 8192 channels made 256 groups of 256, or 32 and 64 channels made 32 and 32, a wrong program looks right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import lcm

MULTIPLE = 32
COUNT = 8
"""Smaller numbers are kernel sizes and strides as often as groups: they go on to divide, how often doesn't matter."""
QUOTIENTS = ((2**14, 2), (2**12, 4), (1, 8))
"""From which factor of reduction on a quotient is kept up to which: the smallest sizes keep only that there
is one."""


def most_quotient(factor: int) -> int:
    """Return up to which quotient two numbers stay as many times each other, at a factor of reduction."""
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
    with `odd` all new ones are odd (one more than an even value at most), and quotients are given up. With `close` they are given up too,
    and of a power of two only that it is even: three lengths become 4, 6 and 8, where 4, 8 and 16 cost too much.
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
