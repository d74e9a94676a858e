"""What torch's operators do in the exact algebra: one rule each, or for several that are alike.

A rule is given the algebra, the operator and its arguments, before the operator runs; it returns the elements of the
result, of several results a tuple. 0 stands for no element: the value is a constant. Operators without a rule are
taken apart by torch's own decompositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from grader.guest import tensors
from grader.guest.exact import Algebra, numbers

ADD, SUB, MUL, DIV, ROOT, EXP, LOG = "+", "-", "*", "/", "sqrt", "exp", "log"
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


POINTWISE = frozenset(
    ["add", "sub", "subtract", "rsub", "mul", "div", "reciprocal", "neg", "square", "pow", "exp", "sigmoid", "abs",
     "sqrt", "rsqrt", "expm1", "exp2", "log", "log2", "log10", "log1p", "tanh", "sinh", "cosh", "sin", "cos", "erf", "erfc"]
)  # fmt: skip
"""Operators whose elements come of the operands' elements in the same place."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Say that a function gives the elements of these operators' results."""

    def named(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return named


# ---------------------------------------------------------------- arithmetic


@rule("add")
def _add(m: Algebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(ADD, m.whole(a), _scaled(m, m.whole(b), alpha))


@rule("sub", "subtract")
def _sub(m: Algebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(SUB, m.whole(a), _scaled(m, m.whole(b), alpha))


@rule("rsub")
def _rsub(m: Algebra, _: Any, a: Any, b: Any, alpha: Any = 1) -> Any:
    return m.map(SUB, m.whole(b), _scaled(m, m.whole(a), alpha))


def _scaled(m: Algebra, elements: torch.Tensor, by: Any) -> torch.Tensor:
    return elements if by == 1 else m.map(MUL, elements, m.whole(by))


@rule("mul")
def _mul(m: Algebra, _: Any, a: Any, b: Any, **_out: Any) -> Any:
    return m.map(MUL, m.whole(a), m.whole(b))


@rule("div")
def _div(m: Algebra, _: Any, a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode is not None:
        return torch.zeros(2, dtype=torch.int64)
    return m.map(DIV, m.whole(a), m.whole(b))


@rule("reciprocal")
def _reciprocal(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(DIV, m.whole(1), m.whole(a))


@rule("neg")
def _neg(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(SUB, m.whole(0), m.whole(a))


@rule("square")
def _square(m: Algebra, _: Any, a: Any) -> Any:
    return m.map(MUL, m.whole(a), m.whole(a))


@rule("pow")
def _pow(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    base = m.whole(a)
    if isinstance(b, torch.Tensor) and b.numel() == 1 and not m.has_elements(b):
        b = numbers(b).item()
    if isinstance(b, torch.Tensor):
        return m.map(EXP, m.map(MUL, m.whole(b), m.map(LOG, base)))
    return m.power(base, float(b))


@rule("exp")
def _exp(m: Algebra, _: Any, a: Any, **_out: Any) -> Any:
    made = m.map(EXP, m.whole(a))
    return made * (numbers(a).float().exp() != 0)[..., None]


@rule("sigmoid")
def _sigmoid(m: Algebra, _: Any, a: Any) -> Any:
    below = m.map(ADD, m.whole(1), m.map(EXP, m.map(SUB, m.whole(0), m.whole(a))))
    return m.map(DIV, m.whole(1), below)


# ---------------------------------------------------------------- as the ordinary run chooses


def _chosen(m: Algebra, first: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
    """Return the known elements of `a` where `first` holds, else those of `b`."""
    known = [
        m.read(v) if isinstance(v, torch.Tensor) else torch.zeros(2, dtype=torch.int64)
        for v in (a, b)
    ]
    return torch.where(first[..., None], *known)


def _plain(value: Any) -> torch.Tensor:
    return (
        numbers(value)
        if isinstance(value, torch.Tensor)
        else torch.tensor(float(value), dtype=torch.float64)
    )


@rule("where")
def _where(m: Algebra, _: Any, condition: Any, a: Any, b: Any) -> Any:
    return _chosen(m, tensors.to_cpu(condition).bool(), a, b)


@rule("maximum", "fmax", "clamp_min")
def _maximum(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    return _chosen(m, _plain(a) >= _plain(b), a, b)


@rule("minimum", "fmin", "clamp_max")
def _minimum(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    return _chosen(m, _plain(a) <= _plain(b), a, b)


@rule("clamp", "hardtanh")
def _clamp(m: Algebra, _: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = named.get("min", low), named.get("max", high)
    within = torch.ones(a.shape, dtype=torch.bool)
    within &= numbers(a) >= _plain(-math.inf if low is None else low)
    within &= numbers(a) <= _plain(math.inf if high is None else high)
    return _chosen(m, within, a, 0.0)


@rule("relu")
def _relu(m: Algebra, _: Any, a: Any) -> Any:
    return _chosen(m, numbers(a) > 0, a, 0.0)


@rule("abs")
def _abs(m: Algebra, _: Any, a: Any) -> Any:
    plain = m.whole(a)
    return torch.where((numbers(a) < 0)[..., None], m.map(SUB, m.whole(0), plain), plain)


@rule("masked_fill")
def _masked_fill(m: Algebra, _: Any, a: Any, mask: Any, value: Any) -> Any:
    return _chosen(m, tensors.to_cpu(mask).bool(), value, a)


@rule("sign", "floor", "ceil", "round", "trunc", "sgn", "heaviside")
def _step(*_: Any, **_named: Any) -> Any:
    return torch.zeros(2, dtype=torch.int64)


def _gathered(m: Algebra, a: torch.Tensor, places: torch.Tensor, dim: int) -> torch.Tensor:
    known = m.read(a)
    return torch.stack([known[..., k].gather(dim, places) for k in (0, 1)], -1)


@rule("amax", "amin")
def _extreme(m: Algebra, func: Any, a: Any, dim: Any = (), keepdim: bool = False) -> Any:
    dims = _dims(a, dim)
    kept = [d for d in range(a.dim()) if d not in dims]
    rows = numbers(a).permute(*kept, *dims).reshape(*(a.shape[d] for d in kept), -1)
    places = (rows.argmax if "amax" in str(func) else rows.argmin)(-1, keepdim=True)
    known = m.read(a).permute(*kept, *dims, a.dim()).reshape(*rows.shape, 2)
    found = torch.stack([known[..., k].gather(-1, places)[..., 0] for k in (0, 1)], -1)
    shape = [1 if d in dims else n for d, n in enumerate(a.shape)]
    return found.reshape(*shape, 2) if keepdim else found


@rule("max", "min")
def _first_extreme(m: Algebra, func: Any, a: Any, dim: Any = None, keepdim: Any = False) -> Any:
    if dim is None:
        flat = numbers(a).flatten()
        return m.read(a).reshape(-1, 2)[int(flat.argmax() if "max" in str(func) else flat.argmin())]
    if isinstance(dim, torch.Tensor):
        return (_maximum if "max" in str(func) else _minimum)(m, func, a, dim)
    places = getattr(numbers(a), "argmax" if "max" in str(func) else "argmin")(dim, keepdim=True)
    found = _gathered(m, a, places, dim % a.dim())
    return (found if keepdim else found.squeeze(dim % a.dim()), None)


@rule("sort", "topk", "kthvalue", "median")
def _by_places(m: Algebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    values, places = func(numbers(a), *rest, **named)
    del values
    dims = [v for v in (*rest[-2:-1], named.get("dim")) if isinstance(v, int)]
    return (_gathered(m, a, places, (dims or [-1])[-1] % a.dim()), None)


@rule(
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
)
def _max_pool(m: Algebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    _, places = func(numbers(a), *rest, **named)
    spatial = 3 if "3d" in str(func) else 2
    known = m.read(a).flatten(-1 - spatial, -2)
    flat = places.flatten(-spatial)
    found = torch.stack([known[..., k].gather(-1, flat) for k in (0, 1)], -1)
    return (found.reshape(*places.shape, 2), None)


# ---------------------------------------------------------------- moved as they are


@rule(
    "clone", "_to_copy", "copy", "_copy_from", "cat", "stack", "index", "_unsafe_index", "index_select", "gather", "flip", "roll", "repeat",
    "lift_fresh_copy", "contiguous", "expand_copy", "take", "tril", "triu", "embedding", "convert_element_type", "alias_copy", "diagonal_copy",
)  # fmt: skip
def _moved(m: Algebra, func: Any, *args: Any, **named: Any) -> Any:
    """Return what the operator itself makes of each residue: 0, no element, where it fills in a number."""
    name = str(func)
    if "copy_" in name or "_copy_from" in name:
        target, source = (args[1], args[0]) if "_copy_from" in name else (args[0], args[1])
        return m.read(source).expand(*target.shape, 2)
    if "_to_copy" in name or "convert_element_type" in name or "clone" in name:
        return m.read(args[0])
    leaves, form = tree_flatten((args, named))
    halves = []
    for k in (0, 1):
        changed = [
            (m.read(v)[..., k].contiguous() if v.is_floating_point() else tensors.to_cpu(v))
            if isinstance(v, torch.Tensor)
            else v
            for v in leaves
        ]
        plain, named_plain = tree_unflatten(changed, form)
        halves.append(func(*plain, **named_plain))
    return torch.stack(halves, -1)


@rule("constant_pad_nd", "pad")
def _pad(m: Algebra, func: Any, a: Any, sizes: Any, *_: Any, **_named: Any) -> Any:
    known = m.read(a)
    return torch.stack([func(known[..., k].contiguous(), sizes, 0) for k in (0, 1)], -1)


@rule(
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "cumsum", "im2col",
    "col2im", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "pixel_shuffle", "_trilinear", "trace",
)  # fmt: skip
def _linear(m: Algebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    return m.linear(lambda digits: func(digits, *rest, **named), m.whole(a))


# ---------------------------------------------------------------- sums


def _dims(a: torch.Tensor, dim: Any) -> list[int]:
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(a.dim()))
    return [d % max(a.dim(), 1) for d in ([dim] if isinstance(dim, int) else dim)]


def _summed(m: Algebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any) -> torch.Tensor:
    if not dims:
        return elements
    return m.linear(lambda digits: digits.sum(list(dims), keepdim=bool(keepdim)), elements)


@rule("sum")
def _sum(m: Algebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _summed(m, m.whole(a), _dims(a, dim), keepdim)


def _mean_of(
    m: Algebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any, less: Any = 0
) -> torch.Tensor:
    count = math.prod(elements.shape[d] for d in dims) - less
    return m.map(DIV, _summed(m, elements, dims, keepdim), m.whole(count))


@rule("mean")
def _mean(m: Algebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _mean_of(m, m.whole(a), _dims(a, dim), keepdim)


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
    elements, dims = m.whole(a), _dims(a, dim)
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
    dims = _dims(a, dim)
    if p == 1:
        return _summed(m, _abs(m, func, a), dims, keepdim)
    if p not in {2, None}:
        return NotImplemented
    elements = m.whole(a)
    return m.map(ROOT, _summed(m, m.map(MUL, elements, elements), dims, keepdim))


@rule("prod", "cumprod")
def _prod(
    m: Algebra, func: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any
) -> Any:
    elements = m.whole(a)
    if dim is None:
        elements, dim = elements.reshape(-1, 2), 0
    rows = list(elements.unbind(dim % (elements.dim() - 1)))
    for k in range(1, len(rows)):
        rows[k] = m.map(MUL, rows[k - 1], rows[k])
    if "cumprod" in str(func):
        return torch.stack(rows, dim % (elements.dim() - 1))
    return rows[-1].unsqueeze(dim % (elements.dim() - 1)) if keepdim else rows[-1]


@rule("full_like", "zeros_like", "ones_like", "new_full", "new_zeros", "new_ones")
def _filled(_m: Algebra, _: Any, *_args: Any, **_named: Any) -> Any:
    return torch.zeros(2, dtype=torch.int64)


@rule("mm", "bmm", "dot", "mv")
def _product(m: Algebra, func: Any, a: Any, b: Any, **_named: Any) -> Any:
    return m.product(func, m.whole(a), m.whole(b))


@rule("convolution", "_convolution", "convolution_overrideable", "cudnn_convolution")
def _convolution(m: Algebra, _: Any, a: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    rest = rest[:6]
    made = m.product(
        lambda x, w: torch.ops.aten.convolution(x, w, None, *rest), m.whole(a), m.whole(weight)
    )
    if bias is None:
        return made
    shape = [1, -1, *([1] * (a.dim() - 2)), 2]
    return m.map(ADD, made, m.whole(bias).reshape(shape))


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
    made = m.linear(lambda digits: sums(digits, 1), m.whole(a))
    return m.map(DIV, made, m.constants(count))


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(m: Algebra, func: Any, a: Any, sizes: Any) -> Any:
    spatial = a.shape[-len(sizes) :]
    if any(n % size for n, size in zip(spatial, sizes, strict=True)):
        return NotImplemented
    count = math.prod(n // size for n, size in zip(spatial, sizes, strict=True))
    made = m.linear(lambda digits: (func(digits, sizes) * count).round(), m.whole(a))
    return m.map(DIV, made, m.whole(count))


# ---------------------------------------------------------------- functions of one value


def _function(name: str) -> Rule:
    return lambda m, _, a, **_out: m.map(name, m.whole(a))


RULES.update({name: _function(name) for name in POINTWISE - RULES.keys()})
