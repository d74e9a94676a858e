"""Exact rules of operators that select elements, as the ordinary run does."""

from __future__ import annotations

import math
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.exact import Algebra, numbers
from grader.guest.exact_table import EXP, MUL, SUB, dims_of, rule


def _choose_elements(m: Algebra, first: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
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
    return _choose_elements(m, tensors.to_cpu(condition).bool(), a, b)


@rule("maximum", "fmax", "clamp_min")
def _maximum(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    return _choose_elements(m, _plain(a) >= _plain(b), a, b)


@rule("minimum", "fmin", "clamp_max")
def _minimum(m: Algebra, _: Any, a: Any, b: Any) -> Any:
    return _choose_elements(m, _plain(a) <= _plain(b), a, b)


@rule("clamp", "hardtanh")
def _clamp(m: Algebra, _: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = named.get("min", low), named.get("max", high)
    within = torch.ones(a.shape, dtype=torch.bool)
    within &= numbers(a) >= _plain(-math.inf if low is None else low)
    within &= numbers(a) <= _plain(math.inf if high is None else high)
    return _choose_elements(m, within, a, 0.0)


@rule("relu")
def _relu(m: Algebra, _: Any, a: Any) -> Any:
    return _choose_elements(m, numbers(a) > 0, a, 0.0)


@rule("elu")
def _elu(m: Algebra, _: Any, a: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """Compute factor by factor: torch's decomposition merges two numbers into one."""
    below = m.map(
        SUB, m.map(EXP, m.map(MUL, m.as_elements(a), m.as_elements(input_scale))), m.as_elements(1)
    )
    found = torch.where(
        (numbers(a) > 0)[..., None], m.as_elements(a), m.map(MUL, m.as_elements(alpha), below)
    )
    return m.map(MUL, found, m.as_elements(scale)) * m.has_element([a])[..., None]


@rule("abs")
def _abs(m: Algebra, _: Any, a: Any) -> Any:
    plain = m.as_elements(a)
    return torch.where((numbers(a) < 0)[..., None], m.map(SUB, m.as_elements(0), plain), plain)


@rule("masked_fill")
def _masked_fill(m: Algebra, _: Any, a: Any, mask: Any, value: Any) -> Any:
    return _choose_elements(m, tensors.to_cpu(mask).bool(), value, a)


@rule("sign", "floor", "ceil", "round", "trunc", "sgn", "heaviside")
def _step(*_: Any, **_named: Any) -> Any:
    return torch.zeros(2, dtype=torch.int64)


def _gather_elements(m: Algebra, a: torch.Tensor, places: torch.Tensor, dim: int) -> torch.Tensor:
    known = m.read(a)
    return torch.stack([known[..., k].gather(dim, places) for k in (0, 1)], -1)


@rule("amax", "amin")
def _extreme(m: Algebra, func: Any, a: Any, dim: Any = (), keepdim: bool = False) -> Any:
    dims = dims_of(a, dim)
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
    found = _gather_elements(m, a, places, dim % a.dim())
    return (found if keepdim else found.squeeze(dim % a.dim()), None)


@rule("sort", "topk", "kthvalue", "median")
def _by_places(m: Algebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    values, places = func(numbers(a), *rest, **named)
    del values
    dims = [v for v in (*rest[-2:-1], named.get("dim")) if isinstance(v, int)]
    return (_gather_elements(m, a, places, (dims or [-1])[-1] % a.dim()), None)


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
