"""Mathematical functions of known numbers, and what type they give otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.source.flow.values import Value

INTEGER = {
    "min": np.minimum,
    "max": np.maximum,
    "std::min": np.minimum,
    "std::max": np.maximum,
    "umin": np.minimum,
    "umax": np.maximum,
}


def known(name: str, numbers: list[Any]) -> float | int | None:
    """Return a mathematical function of known numbers."""
    functions: dict[str, Any] = {
        "ceil": math.ceil,
        "ceilf": math.ceil,
        "floor": math.floor,
        "floorf": math.floor,
        "sqrt": math.sqrt,
        "log2": math.log2,
        "log2f": math.log2,
        "pow": math.pow,
        "abs": abs,
        "exp2": lambda v: 2.0**v,
        "round": round,
        "sqrtf": math.sqrt,
    }
    try:
        return functions[name](*numbers) if name in functions else None
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None


def type_of(name: str, args: list[Value]) -> str | None:
    """Return the letter of the type that a function gives; None: that of its arguments."""
    if name.endswith("f") or name.startswith("__"):
        return "f"
    kinds = {a.type for a in args}
    return "d" if "d" in kinds else "f" if "f" in kinds else None
