"""Elementwise operations, each as an expression of C++."""

from __future__ import annotations

import math
from collections.abc import Callable

from grader.repair.compose.graph import Node, UncoveredError

Formula = Callable[[Node, list[str]], str]


def c_number(value: float | int | bool) -> str:
    """Return a number as C++ writes it."""
    number = float(value)
    if not math.isfinite(number):
        return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
    return f"{number!r}f"


def _with(name: str, index: int, default: float) -> Callable[[Node], str]:
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


COMPARED = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}
"""Comparisons: inside a fused kernel a truth value is 1 or 0."""

FORMULAS: dict[str, tuple[int, Formula]] = {
    **{name: (2, _plain(f"({{0}} {sign} {{1}} ? 1.0f : 0.0f)")) for name, sign in COMPARED.items()},
    "where": (3, _plain("({0} != 0.0f ? {1} : {2})")),
    "masked_fill": (3, _plain("({1} != 0.0f ? {2} : {0})")),
    "prelu": (2, _plain("({0} > 0.0f ? {0} : {1} * {0})")),
    "add": (2, _sum("+")),
    "sub": (2, _sum("-")),
    "rsub": (2, lambda _n, o: f"{o[1]} - {o[0]}"),
    "mul": (2, _plain("{0} * {1}")),
    "truediv": (2, _plain("{0} / {1}")),
    "pow": (2, _pow),
    "square": (1, _plain("{0} * {0}")),
    "maximum": (2, _plain("({0} != {0} || {0} > {1} ? {0} : {1})")),
    "minimum": (2, _plain("({0} != {0} || {0} < {1} ? {0} : {1})")),
    "neg": (1, _plain("-{0}")),
    "abs": (1, _plain("fabsf({0})")),
    "sqrt": (1, _plain("sqrtf({0})")),
    "rsqrt": (1, _plain("rsqrtf({0})")),
    "reciprocal": (1, _plain("1.0f / {0}")),
    "exp": (1, _plain("expf({0})")),
    "log": (1, _plain("logf({0})")),
    "log1p": (1, _plain("log1pf({0})")),
    "log2": (1, _plain("log2f({0})")),
    "log10": (1, _plain("log10f({0})")),
    "exp2": (1, _plain("exp2f({0})")),
    "expm1": (1, _plain("expm1f({0})")),
    "erf": (1, _plain("erff({0})")),
    "floor": (1, _plain("floorf({0})")),
    "ceil": (1, _plain("ceilf({0})")),
    "sinh": (1, _plain("sinhf({0})")),
    "cosh": (1, _plain("coshf({0})")),
    "tan": (1, _plain("tanf({0})")),
    "atan": (1, _plain("atanf({0})")),
    "tanhshrink": (1, _plain("{0} - tanhf({0})")),
    "softshrink": (1, _plain("({0} > {n0} ? {0} - {n0} : {0} < -{n0} ? {0} + {n0} : {0} * 0.0f)", _with("lambd", 1, 0.5))),
    "hardshrink": (1, _plain("(fabsf({0}) <= {n0} ? 0.0f : {0})", _with("lambd", 1, 0.5))),
    "threshold": (1, _plain("({0} <= {n0} ? {n1} : {0})", _with("threshold", 1, 0.0), _with("value", 2, 0.0))),
    "sin": (1, _plain("sinf({0})")),
    "cos": (1, _plain("cosf({0})")),
    "relu": (1, _plain("({0} < 0.0f ? 0.0f : {0})")),
    "relu6": (1, _plain("fminf(({0} < 0.0f ? 0.0f : {0}), 6.0f)")),
    "sigmoid": (1, _plain("1.0f / (1.0f + expf(-{0}))")),
    "tanh": (1, _plain("tanhf({0})")),
    "silu": (1, _plain("{0} / (1.0f + expf(-{0}))")),
    "softsign": (1, _plain("{0} / (1.0f + fabsf({0}))")),
    "softplus": (1, _plain("({0} * {n0} > {n1} ? {0} : log1pf(expf({0} * {n0})) / {n0})", _with("beta", 1, 1.0), _with("threshold", 2, 20.0))),
    "mish": (1, _plain("{0} * tanhf({0} > 20.0f ? {0} : log1pf(expf({0})))")),
    "leaky_relu": (1, _plain("({0} > 0.0f ? {0} : {n0} * {0})", _with("negative_slope", 1, 0.01))),
    "elu": (1, _plain("({0} > 0.0f ? {0} : {n0} * expm1f({0}))", _with("alpha", 1, 1.0))),
    "celu": (1, _plain("({0} > 0.0f ? {0} : {n0} * expm1f({0} / {n0}))", _with("alpha", 1, 1.0))),
    "selu": (1, _plain("1.0507009873554805f * ({0} > 0.0f ? {0} : 1.6732632423543772f * expm1f({0}))")),
    "hardsigmoid": (1, _plain("fminf(fmaxf({0} / 6.0f + 0.5f, 0.0f), 1.0f)")),
    "hardswish": (1, _plain("{0} * fminf(fmaxf({0} + 3.0f, 0.0f), 6.0f) / 6.0f")),
    "logsigmoid": (1, _plain("fminf({0}, 0.0f) - log1pf(expf(-fabsf({0})))")),
    "clamp": (1, _clamp),
    "clamp_min": (1, lambda n, o: f"({o[0]} < {_with('min', 1, 0.0)(n)} ? {_with('min', 1, 0.0)(n)} : {o[0]})"),
    "hardtanh": (1, _clamp),
    "gelu": (1, _gelu),
}  # fmt: skip
"""Operands and the C++ expression of each operation; NaN goes through as in torch."""


def is_pointwise(node: Node) -> bool:
    """Whether a node is one of these on float tensors."""
    kinds = {"bool"} if node.op in COMPARED else {"float32", None}
    return node.op in FORMULAS and node.dtype in kinds and node.shape is not None
