"""C's arithmetic on possibly unknown numbers, where None means unknown."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.source.scalar_types import type_letter

Number = int | float | None
LARGEST = 1 << 62


def _divide(a: float, b: float) -> Number:
    if not b:
        return None
    whole = isinstance(a, int) and isinstance(b, int)
    return abs(a) // abs(b) * (1 if (a >= 0) == (b > 0) else -1) if whole else a / b


def _remainder(a: int, b: int) -> int | None:
    return int(math.fmod(a, b)) if b else None


OPERATORS: Mapping[str, Callable[[Any, Any], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": lambda a, b: a << b if 0 <= b <= 40 else None,
    ">>": lambda a, b: a >> b if 0 <= b <= 40 else None,
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
"""Operators; they return None for undefined results."""
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "pow": math.pow,
    "abs": abs,
    "exp2": lambda v: 2.0**v,
    "round": round,
    "min": min,
    "max": max,
}
"""Mathematical functions, without C's suffixes."""


def binary(op: str, left: Any, right: Any) -> Number:
    """Return `a op b`."""
    if op == "*" and 0 in (left, right):
        return 0
    return _computed_number(OPERATORS.get(op), (left, right))


def call_mathematics(name: str, numbers: Sequence[Any]) -> Number:
    """Return a mathematical function of known numbers."""
    plain = name.removeprefix("u")
    return _computed_number(FUNCTIONS.get(plain) or FUNCTIONS.get(plain.removesuffix("f")), numbers)


def _computed_number(function: Callable[..., Any] | None, numbers: Sequence[Any]) -> Number:
    if function is None or not numbers or not all(isinstance(n, int | float) for n in numbers):
        return None
    try:
        number: Number = function(*numbers)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None
    return number if number is not None and abs(number) <= LARGEST else None


def convert_to(value: Any, written: str) -> Any:
    """Return a number converted to a variable's type; anything else unchanged."""
    letter = type_letter(written)
    if letter in "iul" and isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    return float(value) if letter in "fd" and isinstance(value, int) else value
