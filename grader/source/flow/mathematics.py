"""Mathematical functions of known numbers, and what type they give otherwise."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from grader.source.flow.values import Number, Value

FUNCTIONS: dict[str, Callable[..., Any]] = {
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
    "umin": min,
    "umax": max,
}


def known_value(name: str, numbers: Sequence[Number]) -> Number:
    """Return a mathematical function of known numbers; None where it isn't known."""
    plain = name.removeprefix("std::")
    function = FUNCTIONS.get(plain) or FUNCTIONS.get(plain.removesuffix("f"))
    if function is None or None in numbers or not numbers:
        return None
    try:
        number: int | float = function(*numbers)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None
    return number


def type_of(name: str, args: Sequence[Value]) -> str | None:
    """Return the letter of the type that a function gives; None: that of its arguments."""
    if name.endswith("f") or name.startswith("__"):
        return "f"
    kinds = {a.type for a in args}
    return "d" if "d" in kinds else "f" if "f" in kinds else None
