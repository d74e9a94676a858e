"""A guest's facts about a problem's inputs at one size, in a checked form."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, get_args

from grader.records import DType

DTYPES = frozenset(get_args(DType))
REAL = frozenset(name for name in DTYPES if "float" in name)
Facts = Mapping[str, Any]
"""`inputs` and `outputs` (each with `shape` and `dtype`, or `value`), `init`, what the inputs' `values` are
like, what a run costs (`size`, `elements`, `flops`, `weights`, `fan_in`), and `fewest`, the fewest values
that a norm takes its statistics from (0 where there is none)."""


def check_fact(fact: Any) -> Facts:
    """Return a fact in its checked form.

    Raises TypeError, KeyError, ValueError, AttributeError or OverflowError for any other form.
    """
    names = ("size", "elements", "flops", "weights", "fan_in", "fewest")
    numbers = {name: int(fact[name]) for name in names}
    outputs = [_checked_input(item) for item in fact["outputs"]]
    values = [item if isinstance(item, dict) else {} for item in fact.get("values", ())]
    return {**inputs_of(fact), "outputs": outputs, "values": values, **numbers}


def inputs_of(fact: Any) -> Facts:
    """Return only its inputs and constructor arguments; raises the same errors as `check_fact`."""
    inputs = [_checked_input(item) for item in fact["inputs"]]
    return {"inputs": inputs, "init": list(fact["init"])}


def _checked_input(item: Any) -> Facts:
    if "shape" not in item:
        return {"value": item["value"]}
    shape = tuple(int(n) for n in item["shape"])
    if item["dtype"] not in DTYPES or len(shape) > 16 or any(n < 0 for n in shape):
        raise ValueError
    return {"shape": shape, "dtype": item["dtype"]}


def reduction_length(fact: Facts) -> int:
    """Return an estimate of the number of terms in one output: the weights' fan-in, or inputs per output."""
    results = sum(prod(item["shape"]) for item in fact["outputs"] if "shape" in item)
    longest = max((n for item in fact["inputs"] for n in item.get("shape", ())), default=1)
    per_output = int(fact["size"]) // max(int(results), 1)
    return max(per_output, int(fact["fan_in"]), int(longest), 1)


def first_dim(fact: Facts) -> int:
    """Return the first dim of the first tensor; 0 where there is none."""
    first = next((item["shape"] for item in fact["inputs"] if "shape" in item), ())
    return int(first[0]) if first else 0


def lengths(fact: Facts) -> list[int]:
    """Return the lengths of real inputs after their first dim, the shortest first."""
    real = (item["shape"] for item in fact["inputs"] if item.get("dtype") in REAL)
    return sorted(n for shape in real for n in shape[1:] if n > 1)


def is_whole(fact: Facts) -> bool:
    """Whether a size's only output holds whole numbers."""
    return len(fact["outputs"]) == 1 and fact["outputs"][0].get("dtype") == "int64"
