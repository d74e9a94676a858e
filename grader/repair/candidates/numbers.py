"""Alternatives of a number: one more or less, twice or half, another start, a constant of formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping

CONSTANTS = (
    0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 0.044715, 0.7978845608028654, 0.7071067811865476, 1.4142135623730951, 1.702,
    0.6931471805599453, 1.4426950408889634, 1.0507009873554805, 1.6732632423543772, 0.01, 0.1, 1e-5, 1e-6, 1e-8, 1e-12,
)  # fmt: skip
"""Numbers that formulas of this field are made of."""
DIMS = "01234"
LANES = "0xffffffff"


def other_numbers(words: str) -> Mapping[str, float]:
    """Return other numbers for a literal of C++, each with its cost."""
    if re.fullmatch(r"0x[0-9a-fA-F]+u?", words):
        return {} if words.lower().rstrip("u") == LANES else {LANES: 1.5}
    return _whole_numbers(int(words)) if re.fullmatch(r"\d+", words) else _real_numbers(words)


def _whole_numbers(value: int) -> Mapping[str, float]:
    near = {value + 1: 2.5, value - 1: 2.5, value * 2: 2.2, 32: 3.0}
    near |= {value // 2: 2.2} if value % 2 == 0 else {}
    return {str(n): cost for n, cost in near.items() if n >= 0 and n != value}


def _real_numbers(words: str) -> Mapping[str, float]:
    suffix = "f" if words[-1] in "fF" else ""
    try:
        value = float(words.rstrip("fFlL"))
    except ValueError:
        return {}
    if value == 0:
        return {"-INFINITY": 2.0, "INFINITY": 2.5, f"1.0{suffix}": 2.0}
    if abs(value) > 1e9:
        return {f"0.0{suffix}": 2.5, "-INFINITY": 2.0, "INFINITY": 2.5}
    near = {f"{value * k!r}{suffix}": 3.5 for k in (0.5, 2.0)}
    tenfold = (value * 10, value / 10) if abs(value) < 1 else ()  # a slope of 0.01 for 0.1
    near |= {f"{float(f'{k:.6g}')!r}{suffix}": 3.0 for k in tenfold}
    near |= {f"0.0{suffix}": 2.5} if value == 1 else {}
    for other in near_constants(value):
        near[f"{other!r}{suffix}"] = 2.0 if abs(other / value - 1) < 0.2 else 3.0
    return near


def near_constants(value: float) -> list[float]:
    """Return the constants of formulas that a number may be confused with, the nearest first."""
    others = sorted((one for one in CONSTANTS if one != value), key=lambda one: abs(one - value))
    return [one for one in others if abs(one - value) < 0.5 * abs(value) or max(one, value) < 0.01]
