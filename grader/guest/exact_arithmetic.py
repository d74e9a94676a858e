"""Exact rules of arithmetic operators: elementwise formulas, sums, products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from grader.guest.exact import Algebra, numbers
from grader.guest.exact_table import ADD, DIV, EXP, LOG, MUL, ROOT, RULES, SUB, Rule, dims_of, rule

POINTWISE = frozenset(
    ["add", "sub", "subtract", "rsub", "mul", "div", "reciprocal", "neg", "square", "pow", "exp", "sigmoid", "abs",
     "sqrt", "rsqrt", "expm1", "exp2", "log", "log2", "log10", "log1p", "tanh", "sinh", "cosh", "sin", "cos", "erf", "erfc"]
)  # fmt: skip
"""Elementwise operators."""


@rule("add")
def _add(m: Algebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(ADD, m.as_elements(a), _scale_elements(m, m.as_elements(b), alpha))


@rule("sub", "subtract")
def _sub(m: Algebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(SUB, m.as_elements(a), _scale_elements(m, m.as_elements(b), alpha))


@rule("rsub")
def _rsub(m: Algebra, _: Any, a: Any, b: Any, alpha: Any = 1) -> Any:
    return m.map(SUB, m.as_elements(b), _scale_elements(m, m.as_elements(a), alpha))


def _scale_elements(m: Algebra, elements: torch.Tensor, by: Any) -> torch.Tensor:
    return elements if by == 1 else m.map(MUL, elements, m.as_elements(by))


@rule("mul")
def _mul(m: Algebra, _: Any, a: Any, b: Any, **_out: Any) -> Any:
    return m.map(MUL, m.as_elements(a), m.as_elements(b))


@rule("div")
def _div(m: Algebra, _: Any, a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode is not None:
        return torch.zeros(2, dtype=torch.int64)
    return m.map(DIV, m.as_elements(a), m.as_elements(b))


@rule("reciprocal")
def _reciprocal(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(DIV, m.as_elements(1), m.as_elements(a))


@rule("neg")
def _neg(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(SUB, m.as_elements(0), m.as_elements(a))


@rule("square")
def _square(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(MUL, m.as_elements(a), m.as_elements(a))


@rule("pow")
def _pow(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    base = m.as_elements(a)
    if isinstance(b, torch.Tensor) and b.numel() == 1 and not m.has_elements(b):
        b = numbers(b).item()
    if isinstance(b, torch.Tensor):
        return m.map(EXP, m.map(MUL, m.as_elements(b), m.map(LOG, base)))
    return m.power(base, float(b))


@rule("exp")
def _exp(m: Algebra, _: Any, a: Any, **_out: Any) -> Any:
    made = m.map(EXP, m.as_elements(a))
    return made * (numbers(a).float().exp() != 0)[..., None]


@rule("sigmoid")
def _sigmoid(m: Algebra, _: Any, a: Any) -> Any:
    below = m.map(ADD, m.as_elements(1), m.map(EXP, m.map(SUB, m.as_elements(0), m.as_elements(a))))
    return m.map(DIV, m.as_elements(1), below)


def _sum_elements(
    m: Algebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any
) -> torch.Tensor:
    if not dims:
        return elements
    return m.linear(lambda digits: digits.sum(list(dims), keepdim=bool(keepdim)), elements)


@rule("sum")
def _sum(m: Algebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _sum_elements(m, m.as_elements(a), dims_of(a, dim), keepdim)


def _mean_of(
    m: Algebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any, less: Any = 0
) -> torch.Tensor:
    count = math.prod(elements.shape[d] for d in dims) - less
    return m.map(DIV, _sum_elements(m, elements, dims, keepdim), m.as_elements(count))


@rule("mean")
def _mean(m: Algebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _mean_of(m, m.as_elements(a), dims_of(a, dim), keepdim)


@rule("var", "std", "var_mean", "std_mean")
def _var(
    m: Algebra,
    func: Any,
    a: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: Any = False,
    correction: Any = None,
) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    less = correction if correction is not None else 0 if unbiased is False else 1
    elements, dims = m.as_elements(a), dims_of(a, dim)
    apart = m.map(SUB, elements, _mean_of(m, elements, dims, True))
    found = _mean_of(m, m.map(MUL, apart, apart), dims, keepdim, less)
    if "std" in str(func):
        found = m.map(ROOT, found)
    return (found, _mean_of(m, elements, dims, keepdim)) if "_mean" in str(func) else found


@rule("linalg_vector_norm", "norm")
def _norm(
    m: Algebra,
    func: Any,
    a: Any,
    p: Any = 2,
    dim: Any = None,
    keepdim: Any = False,
    **_named: Any,
) -> Any:
    dims = dims_of(a, dim)
    if p == 1:
        return _sum_elements(m, RULES["abs"](m, func, a), dims, keepdim)
    if p not in {2, None}:
        return NotImplemented
    elements = m.as_elements(a)
    return m.map(ROOT, _sum_elements(m, m.map(MUL, elements, elements), dims, keepdim))


@rule("prod", "cumprod")
def _prod(
    m: Algebra, func: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any
) -> Any:
    elements = m.as_elements(a)
    if dim is None:
        elements, dim = elements.reshape(-1, 2), 0
    rows = list(elements.unbind(dim % (elements.dim() - 1)))
    for k in range(1, len(rows)):
        rows[k] = m.map(MUL, rows[k - 1], rows[k])
    if "cumprod" in str(func):
        return torch.stack(rows, dim % (elements.dim() - 1))
    return rows[-1].unsqueeze(dim % (elements.dim() - 1)) if keepdim else rows[-1]


@rule("mm", "bmm", "dot", "mv")
def _product(m: Algebra, func: Any, a: Any, b: Any, **_named: Any) -> Any:
    return m.product(func, m.as_elements(a), m.as_elements(b))


@rule("convolution", "_convolution", "convolution_overrideable", "cudnn_convolution")
def _convolution(m: Algebra, _: Any, a: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    rest = rest[:6]
    made = m.product(
        lambda x, w: torch.ops.aten.convolution(x, w, None, *rest),
        m.as_elements(a),
        m.as_elements(weight),
    )
    if bias is None:
        return made
    shape = [1, -1, *([1] * (a.dim() - 2)), 2]
    return m.map(ADD, made, m.as_elements(bias).reshape(shape))


@rule("avg_pool2d", "avg_pool3d")
def _avg_pool(
    m: Algebra,
    func: Any,
    a: Any,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil: Any = False,
    pads: Any = True,
    divisor: Any = None,
) -> Any:
    def sums(x: torch.Tensor, by: Any) -> torch.Tensor:
        pooled: torch.Tensor = func(x, size, stride, padding, ceil, pads, by)
        return pooled

    ones = torch.ones(a.shape, dtype=torch.float64)
    count = (sums(ones, 1) / sums(ones, divisor)).round()
    made = m.linear(lambda digits: sums(digits, 1), m.as_elements(a))
    return m.map(DIV, made, m.constants(count))


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(m: Algebra, func: Any, a: Any, sizes: Any) -> Any:
    spatial = a.shape[-len(sizes) :]
    if any(n % size for n, size in zip(spatial, sizes, strict=True)):
        return NotImplemented
    count = math.prod(n // size for n, size in zip(spatial, sizes, strict=True))
    made = m.linear(lambda digits: (func(digits, sizes) * count).round(), m.as_elements(a))
    return m.map(DIV, made, m.as_elements(count))


def _function(name: str) -> Rule:
    return lambda m, _, a, **_out: m.map(name, m.as_elements(a))


RULES.update({name: _function(name) for name in POINTWISE - RULES.keys() - {"abs"}})
