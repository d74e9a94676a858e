"""Elementwise operations, each as an expression of C++."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.repair.compose.graph import Node, UncoveredError

Formula = Callable[[Node, list[str]], str]


def c_number(value: float | int | bool) -> str:
    """Return a number as a C++ literal."""
    number = float(value)
    if not math.isfinite(number):
        return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
    return f"{number!r}f"


def _with_argument(name: str, index: int, default: float) -> Callable[[Node], str]:
    def read(node: Node) -> str:
        value = node.argument(index, name, default)
        if not isinstance(value, int | float):
            raise UncoveredError(f"{node.op}: `{name}` is no number")
        return c_number(value)

    return read


def _clamp(node: Node, operands: list[str]) -> str:
    low = node.argument(1, "min", node.attributes.get("min_val"))
    high = node.argument(2, "max", node.attributes.get("max_val"))
    if node.op == "hardtanh":
        low = node.argument(1, "min_val", -1.0)
        high = node.argument(2, "max_val", 1.0)
    words = operands[0]
    for bound, sign in ((low, "<"), (high, ">")):
        if bound is not None and not isinstance(bound, int | float):
            raise UncoveredError(f"{node.op}: a bound is no number")
        if bound is not None:  # NaN stays NaN, as in torch
            words = f"({words} {sign} {c_number(bound)} ? {c_number(bound)} : {words})"
    return words


def _gelu(node: Node, operands: list[str]) -> str:
    v = operands[0]
    if node.argument(1, "approximate", "none") == "tanh":
        return f"0.5f * {v} * (1.0f + tanhf(0.79788456080286536f * ({v} + 0.044715f * {v} * {v} * {v})))"
    return f"0.5f * {v} * (1.0f + erff({v} * 0.70710678118654752f))"


def _sum(sign: str) -> Formula:
    def formula(node: Node, operands: list[str]) -> str:
        alpha = node.kwargs.get("alpha", 1)
        factor = "" if alpha == 1 else f"{c_number(alpha)} * "
        return f"{operands[0]} {sign} {factor}{operands[1]}"

    return formula


def _pow(node: Node, operands: list[str]) -> str:
    exponent = node.argument(1, "exponent")
    if exponent == 2:
        return f"{operands[0]} * {operands[0]}"
    if exponent == 3:
        return f"{operands[0]} * {operands[0]} * {operands[0]}"
    return f"powf({operands[0]}, {operands[1]})"


def _plain(template: str, *numbers: Callable[[Node], str]) -> Formula:
    def formula(node: Node, operands: list[str]) -> str:
        return template.format(*operands, **{f"n{k}": read(node) for k, read in enumerate(numbers)})

    return formula


def _written_operations() -> Iterator[tuple[str, tuple[int, Formula]]]:
    """Yield the operations of `pointwise.toml`, each with how many operands it names."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    for name, entry in table.items():
        words = entry if isinstance(entry, str) else entry["text"]
        numbers = [] if isinstance(entry, str) else entry["numbers"]
        count = 1 + max(map(int, re.findall(r"\{(\d)\}", words)))
        yield name, (count, _plain(words, *(_with_argument(*number) for number in numbers)))


COMPARED = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}
"""Comparisons: inside a fused kernel a truth value is 1 or 0."""

FORMULAS: dict[str, tuple[int, Formula]] = {
    **{name: (2, _plain(f"({{0}} {sign} {{1}} ? 1.0f : 0.0f)")) for name, sign in COMPARED.items()},
    **dict(_written_operations()),
    "add": (2, _sum("+")),
    "sub": (2, _sum("-")),
    "pow": (2, _pow),
    "clamp": (1, _clamp),
    "clamp_min": (1, lambda n, o: f"({o[0]} < {_with_argument('min', 1, 0.0)(n)} ? {_with_argument('min', 1, 0.0)(n)} : {o[0]})"),
    "hardtanh": (1, _clamp),
    "gelu": (1, _gelu),
}  # fmt: skip
"""Operands and the C++ expression of each operation; NaN goes through as in torch."""


def is_pointwise(node: Node) -> bool:
    """Whether a node is one of these on float tensors."""
    kinds = {"bool"} if node.op in COMPARED else {"float32", None}
    return node.op in FORMULAS and node.dtype in kinds and node.shape is not None
