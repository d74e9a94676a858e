"""torch's operators in the exact algebra, beside their ordinary run on the simulator.

The simulator keeps an element for each float in memory (native/exact.hpp); an operator of torch gives its result the
elements that the formula gives. Sums and products of matrices are taken exactly, by torch itself: on 16-bit digits
in float64. What can't be followed is named, and its result counts as constants.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from grader.guest import tensors

ADD, SUB, MUL, DIV, ROOT, EXP, LOG, TANH, ERF, SIN, COS = range(11)
DIGITS = 4
"""Of 16 bits, in a residue."""
MOST = 1 << 24
"""Elements of one result beyond which nothing is followed."""
Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Say that a function gives the elements of these operators' results."""

    def named(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return named


class ExactAlgebra(TorchDispatchMode):  # type: ignore[misc]
    """Follows the operators that run below it."""

    def __init__(self, runtime: Any, key: int) -> None:
        super().__init__()
        self._runtime = runtime
        self.unfollowed: set[str] = set()
        runtime.kgsim_exact_cells.restype = ctypes.c_uint64
        runtime.kgsim_exact_begin(ctypes.c_uint64(key))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func.is_view or not any(map(self.has_elements, tree_flatten((args, given))[0])):
            return func(*args, **given)
        name = func._schema.name.removeprefix("aten::").removeprefix("prims::")
        name = name if name.startswith("_") else name.removesuffix("_")
        found = RULES.get(name)
        apart = decomposition_table.get(func)
        if found is None and apart is not None:
            with self:
                result = apart(*args, **given)
            if result is not NotImplemented:
                return result
        try:
            elements = NotImplemented if found is None else found(self, func, *args, **given)
        except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
            elements = NotImplemented
            self.unfollowed.add(f"{name} ({str(error)[:60]})")
        result = func(*args, **given)
        results = result if isinstance(result, (tuple, list)) else [result]
        if elements is NotImplemented:
            floats = (isinstance(r, torch.Tensor) and r.is_floating_point() for r in results)
            self.unfollowed |= {name} if any(floats) else set()
            return result
        for one, of_one in zip(
            results, elements if isinstance(elements, tuple) else [elements], strict=False
        ):
            self.write(one, of_one)
        return result

    # Elements of tensors: int64, one more dim of 2 for the residues; 0 for none.

    def _cells(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return the elements of a device's tensor as they lie in memory."""
        if not tensor.is_cuda or not tensor.numel() or tensor.itemsize < 2:
            return None
        count = ctypes.c_uint64()
        first = self._runtime.kgsim_exact_cells(
            ctypes.c_uint64(tensor.data_ptr()), ctypes.byref(count)
        )
        if not first:
            return None
        words = (ctypes.c_int64 * (2 * count.value)).from_address(first)
        flat = torch.frombuffer(words, dtype=torch.int64)
        step = tensor.itemsize // 2 * 2
        return flat.as_strided((*tensor.shape, 2), (*(s * step for s in tensor.stride()), 1))

    def has_elements(self, value: Any) -> bool:
        """Whether it is a tensor of which any element is known."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return False
        cells = self._cells(value)
        return cells is not None and value.numel() <= MOST and bool((cells[..., 0] != 0).any())

    def read(self, value: Any) -> torch.Tensor:
        """Return the known elements of a tensor, as a copy."""
        cells = self._cells(value) if value.is_floating_point() else None
        return (
            torch.zeros((*value.shape, 2), dtype=torch.int64) if cells is None else cells.clone()
        )

    def whole(self, value: Any) -> torch.Tensor:
        """Return elements of all: what has none is a constant."""
        if not isinstance(value, torch.Tensor):
            return self.constants(torch.tensor(float(value), dtype=torch.float64))
        elements = self.read(value)
        missing = elements[..., 0] == 0
        if missing.any():
            elements[missing] = self.constants(numbers(value)[missing])
        return elements

    def constants(self, values: torch.Tensor) -> torch.Tensor:
        """Return the elements of numbers."""
        different, places = values.double().unique(return_inverse=True)
        found = self._fill("kgsim_exact_constants", different)
        return found[places]

    def leaves(self, values: torch.Tensor) -> torch.Tensor:
        """Return variables, of equal numbers the same one."""
        return self._fill("kgsim_exact_leaves", values)

    def _fill(self, function: str, values: torch.Tensor) -> torch.Tensor:
        flat = values.double().contiguous()
        made = torch.zeros((*values.shape, 2), dtype=torch.int64)
        getattr(self._runtime, function)(ctypes.c_size_t(flat.numel()), _at(flat), _at(made))
        return made

    def write(self, tensor: Any, elements: torch.Tensor | None) -> None:
        """Give a result its elements, where it is a finite number."""
        if elements is None or not isinstance(tensor, torch.Tensor):
            return
        cells = self._cells(tensor) if tensor.is_floating_point() else None
        if cells is not None:
            finite = numbers(tensor).isfinite()
            cells.copy_(elements.expand(cells.shape) * finite[..., None])

    def map(self, operation: int, a: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        """Return what an operation gives, element by element."""
        one, other = torch.broadcast_tensors(a, a if b is None else b)
        one, other = one.contiguous(), other.contiguous()
        made = torch.empty_like(one)
        count = ctypes.c_size_t(one.numel() // 2)
        self._runtime.kgsim_exact_map(operation, count, _at(one), _at(other), _at(made))
        return made

    def linear(
        self, function: Callable[[torch.Tensor], torch.Tensor], a: torch.Tensor
    ) -> torch.Tensor:
        """Return what a function gives that only adds up: torch's own, on digits."""
        return self._join(
            False, *([function(d) for d in part] if part else None for part in _digits(a))
        )

    def product(
        self, function: Callable[[Any, Any], torch.Tensor], a: torch.Tensor, b: torch.Tensor
    ) -> torch.Tensor:
        """Return what a function gives that adds up products of one factor of each."""
        sums = []
        for one, other in zip(_digits(a), _digits(b), strict=True):
            found: list[Any] = [0] * (2 * DIGITS - 1)
            for i, x in enumerate(one or ()):
                for j, y in enumerate(other or ()):
                    found[i + j] = found[i + j] + function(x, y)
            sums.append(found if one and other else None)
        return self._join(True, *sums)

    def _join(self, product: bool, p: Any, q: Any) -> torch.Tensor:
        shape = p[0].shape
        parts = [None if part is None else torch.stack(part).contiguous() for part in (p, q)]
        made = torch.zeros((*shape, 2), dtype=torch.int64)
        self._runtime.kgsim_exact_join(
            int(product),
            ctypes.c_size_t(len(p)),
            ctypes.c_size_t(math.prod(shape)),
            *(None if part is None else _at(part) for part in parts),
            _at(made),
        )
        return made

    def mark(self, known: Iterable[torch.Tensor]) -> None:
        """Make inputs and weights variables."""
        for tensor in known:
            if tensor.is_floating_point() and tensor.numel() <= MOST:
                self.write(tensor, self.leaves(numbers(tensor)))

    def results(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the first residues of forward's results, and with them whether they are no constants."""
        found: list[Any] = []
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
                found += [leaf, 0]
                continue
            found += [self.whole(leaf)[..., 0].contiguous(), (self.read(leaf)[..., 0] != 0).byte()]
        return found


def numbers(tensor: torch.Tensor) -> torch.Tensor:
    """Return the ordinary values on the CPU."""
    found: torch.Tensor = tensors.to_cpu(tensor.detach()) if tensor.is_cuda else tensor.detach()
    return found.double()


def _at(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _digits(elements: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor] | None]:
    """Return the digits of the first residues and of the second; of these None where any is lost."""

    def of(words: torch.Tensor) -> list[torch.Tensor]:
        return [(words >> 16 * k & 0xFFFF).double() for k in range(DIGITS)]

    second = elements[..., 1]
    return of(elements[..., 0]), None if (second == 0).any() else of(second)


# ---------------------------------------------------------------- arithmetic


@rule("add")
def _add(m: ExactAlgebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(ADD, m.whole(a), _scaled(m, m.whole(b), alpha))


@rule("sub", "subtract")
def _sub(m: ExactAlgebra, _: Any, a: Any, b: Any, *, alpha: Any = 1, **_out: Any) -> Any:
    return m.map(SUB, m.whole(a), _scaled(m, m.whole(b), alpha))


@rule("rsub")
def _rsub(m: ExactAlgebra, _: Any, a: Any, b: Any, alpha: Any = 1) -> Any:
    return m.map(SUB, m.whole(b), _scaled(m, m.whole(a), alpha))


def _scaled(m: ExactAlgebra, elements: torch.Tensor, by: Any) -> torch.Tensor:
    return elements if by == 1 else m.map(MUL, elements, m.whole(by))


@rule("mul")
def _mul(m: ExactAlgebra, _: Any, a: Any, b: Any, **_out: Any) -> Any:
    return m.map(MUL, m.whole(a), m.whole(b))


@rule("div")
def _div(m: ExactAlgebra, _: Any, a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode is not None:
        return torch.zeros(2, dtype=torch.int64)
    return m.map(DIV, m.whole(a), m.whole(b))


@rule("reciprocal")
def _reciprocal(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(DIV, m.whole(1), m.whole(a))


@rule("neg")
def _neg(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(SUB, m.whole(0), m.whole(a))


@rule("square")
def _square(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(MUL, m.whole(a), m.whole(a))


@rule("pow")
def _pow(m: ExactAlgebra, _: Any, a: Any, b: Any) -> Any:
    base = m.whole(a)
    if isinstance(b, torch.Tensor) and b.numel() == 1 and not m.has_elements(b):
        b = numbers(b).item()
    if isinstance(b, torch.Tensor) or not isinstance(a, torch.Tensor):
        return m.map(EXP, m.map(MUL, m.whole(b), m.map(LOG, base)))
    if 2 * b != int(2 * b) or abs(b) > 64:
        return m.map(EXP, m.map(MUL, m.whole(b), m.map(LOG, base)))
    made = m.whole(1)
    for _ in range(int(abs(b))):
        made = m.map(MUL, made, base)
    if b != int(b):
        made = m.map(MUL, made, m.map(ROOT, base))
    return m.map(DIV, m.whole(1), made) if b < 0 else made.expand(base.shape)


def _function(name: str, operation: int) -> None:
    RULES[name] = lambda m, _, a, **_out: m.map(operation, m.whole(a))


for _name, _operation in (
    ("sqrt", ROOT), ("log", LOG), ("tanh", TANH), ("erf", ERF), ("sin", SIN), ("cos", COS),
):  # fmt: skip
    _function(_name, _operation)


@rule("exp")
def _exp(m: ExactAlgebra, _: Any, a: Any, **_out: Any) -> Any:
    made = m.map(EXP, m.whole(a))
    return made * (numbers(a).float().exp() != 0)[..., None]


@rule("rsqrt")
def _rsqrt(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(DIV, m.whole(1), m.map(ROOT, m.whole(a)))


@rule("log1p")
def _log1p(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(LOG, m.map(ADD, m.whole(1), m.whole(a)))


@rule("expm1")
def _expm1(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return m.map(SUB, m.map(EXP, m.whole(a)), m.whole(1))


@rule("sigmoid")
def _sigmoid(m: ExactAlgebra, _: Any, a: Any) -> Any:
    below = m.map(ADD, m.whole(1), m.map(EXP, m.map(SUB, m.whole(0), m.whole(a))))
    return m.map(DIV, m.whole(1), below)


# ---------------------------------------------------------------- as the ordinary run chooses


def _chosen(m: ExactAlgebra, first: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
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
def _where(m: ExactAlgebra, _: Any, condition: Any, a: Any, b: Any) -> Any:
    return _chosen(m, tensors.to_cpu(condition).bool(), a, b)


@rule("maximum", "fmax", "clamp_min")
def _maximum(m: ExactAlgebra, _: Any, a: Any, b: Any) -> Any:
    return _chosen(m, _plain(a) >= _plain(b), a, b)


@rule("minimum", "fmin", "clamp_max")
def _minimum(m: ExactAlgebra, _: Any, a: Any, b: Any) -> Any:
    return _chosen(m, _plain(a) <= _plain(b), a, b)


@rule("clamp", "hardtanh")
def _clamp(m: ExactAlgebra, _: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = named.get("min", low), named.get("max", high)
    within = torch.ones(a.shape, dtype=torch.bool)
    within &= numbers(a) >= _plain(-math.inf if low is None else low)
    within &= numbers(a) <= _plain(math.inf if high is None else high)
    return _chosen(m, within, a, 0.0)


@rule("relu")
def _relu(m: ExactAlgebra, _: Any, a: Any) -> Any:
    return _chosen(m, numbers(a) > 0, a, 0.0)


@rule("abs")
def _abs(m: ExactAlgebra, _: Any, a: Any) -> Any:
    plain = m.whole(a)
    return torch.where((numbers(a) < 0)[..., None], m.map(SUB, m.whole(0), plain), plain)


@rule("masked_fill")
def _masked_fill(m: ExactAlgebra, _: Any, a: Any, mask: Any, value: Any) -> Any:
    return _chosen(m, tensors.to_cpu(mask).bool(), value, a)


@rule("sign", "floor", "ceil", "round", "trunc", "sgn", "heaviside")
def _step(*_: Any, **_named: Any) -> Any:
    return torch.zeros(2, dtype=torch.int64)


def _gathered(m: ExactAlgebra, a: torch.Tensor, places: torch.Tensor, dim: int) -> torch.Tensor:
    known = m.read(a)
    return torch.stack([known[..., k].gather(dim, places) for k in (0, 1)], -1)


@rule("amax", "amin")
def _extreme(m: ExactAlgebra, func: Any, a: Any, dim: Any = (), keepdim: bool = False) -> Any:
    dims = _dims(a, dim)
    kept = [d for d in range(a.dim()) if d not in dims]
    rows = numbers(a).permute(*kept, *dims).reshape(*(a.shape[d] for d in kept), -1)
    places = (rows.argmax if "amax" in str(func) else rows.argmin)(-1, keepdim=True)
    known = m.read(a).permute(*kept, *dims, a.dim()).reshape(*rows.shape, 2)
    found = torch.stack([known[..., k].gather(-1, places)[..., 0] for k in (0, 1)], -1)
    shape = [1 if d in dims else n for d, n in enumerate(a.shape)]
    return found.reshape(*shape, 2) if keepdim else found


@rule("max", "min")
def _first_extreme(m: ExactAlgebra, func: Any, a: Any, dim: Any = None, keepdim: Any = False) -> Any:
    if dim is None:
        flat = numbers(a).flatten()
        return m.read(a).reshape(-1, 2)[int(flat.argmax() if "max" in str(func) else flat.argmin())]
    if isinstance(dim, torch.Tensor):
        return (_maximum if "max" in str(func) else _minimum)(m, func, a, dim)
    places = getattr(numbers(a), "argmax" if "max" in str(func) else "argmin")(dim, keepdim=True)
    found = _gathered(m, a, places, dim % a.dim())
    return (found if keepdim else found.squeeze(dim % a.dim()), None)


@rule("sort", "topk", "kthvalue", "median")
def _by_places(m: ExactAlgebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    values, places = func(numbers(a), *rest, **named)
    del values
    dims = [v for v in (*rest[-2:-1], named.get("dim")) if isinstance(v, int)]
    return (_gathered(m, a, places, (dims or [-1])[-1] % a.dim()), None)


@rule("max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _max_pool(m: ExactAlgebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
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
def _moved(m: ExactAlgebra, func: Any, *args: Any, **named: Any) -> Any:
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
def _pad(m: ExactAlgebra, func: Any, a: Any, sizes: Any, *_: Any, **_named: Any) -> Any:
    known = m.read(a)
    return torch.stack([func(known[..., k].contiguous(), sizes, 0) for k in (0, 1)], -1)


@rule(
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "cumsum", "im2col",
    "col2im", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "pixel_shuffle", "_trilinear", "trace",
)  # fmt: skip
def _linear(m: ExactAlgebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    return m.linear(lambda digits: func(digits, *rest, **named), m.whole(a))


# ---------------------------------------------------------------- sums


def _dims(a: torch.Tensor, dim: Any) -> list[int]:
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(a.dim()))
    return [d % max(a.dim(), 1) for d in ([dim] if isinstance(dim, int) else dim)]


def _summed(m: ExactAlgebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any) -> torch.Tensor:
    if not dims:
        return elements
    return m.linear(lambda digits: digits.sum(list(dims), keepdim=bool(keepdim)), elements)


@rule("sum")
def _sum(m: ExactAlgebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _summed(m, m.whole(a), _dims(a, dim), keepdim)


def _mean_of(m: ExactAlgebra, elements: torch.Tensor, dims: Sequence[int], keepdim: Any, less: Any = 0) -> torch.Tensor:
    count = math.prod(elements.shape[d] for d in dims) - less
    return m.map(DIV, _summed(m, elements, dims, keepdim), m.whole(count))


@rule("mean")
def _mean(m: ExactAlgebra, _: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    return _mean_of(m, m.whole(a), _dims(a, dim), keepdim)


@rule("var", "std", "var_mean", "std_mean")
def _var(m: ExactAlgebra, func: Any, a: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, correction: Any = None) -> Any:
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
def _norm(m: ExactAlgebra, func: Any, a: Any, p: Any = 2, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    dims = _dims(a, dim)
    if p == 1:
        return _summed(m, _abs(m, func, a), dims, keepdim)
    if p not in {2, None}:
        return NotImplemented
    elements = m.whole(a)
    return m.map(ROOT, _summed(m, m.map(MUL, elements, elements), dims, keepdim))


@rule("prod", "cumprod")
def _prod(m: ExactAlgebra, func: Any, a: Any, dim: Any = None, keepdim: Any = False, **_named: Any) -> Any:
    elements = m.whole(a)
    if dim is None:
        elements, dim = elements.reshape(-1, 2), 0
    rows = list(elements.unbind(dim % (elements.dim() - 1)))
    for k in range(1, len(rows)):
        rows[k] = m.map(MUL, rows[k - 1], rows[k])
    if "cumprod" in str(func):
        return torch.stack(rows, dim % (elements.dim() - 1))
    return rows[-1].unsqueeze(dim % (elements.dim() - 1)) if keepdim else rows[-1]


@rule("mm", "bmm", "dot", "mv")
def _product(m: ExactAlgebra, func: Any, a: Any, b: Any, **_named: Any) -> Any:
    return m.product(func, m.whole(a), m.whole(b))


@rule("convolution", "_convolution", "convolution_overrideable", "cudnn_convolution")
def _convolution(m: ExactAlgebra, func: Any, a: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    rest = rest[:6]
    made = m.product(
        lambda x, w: torch.ops.aten.convolution(x, w, None, *rest), m.whole(a), m.whole(weight)
    )
    if bias is None:
        return made
    shape = [1, -1, *([1] * (a.dim() - 2)), 2]
    return m.map(ADD, made, m.whole(bias).reshape(shape))


@rule("avg_pool2d", "avg_pool3d")
def _avg_pool(m: ExactAlgebra, func: Any, a: Any, size: Any, stride: Any = (), padding: Any = 0, ceil: Any = False, pads: Any = True, divisor: Any = None) -> Any:
    def sums(x: torch.Tensor, by: Any) -> torch.Tensor:
        pooled: torch.Tensor = func(x, size, stride, padding, ceil, pads, by)
        return pooled

    ones = torch.ones(a.shape, dtype=torch.float64)
    count = (sums(ones, 1) / sums(ones, divisor)).round()
    made = m.linear(lambda digits: sums(digits, 1), m.whole(a))
    return m.map(DIV, made, m.constants(count))


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(m: ExactAlgebra, func: Any, a: Any, sizes: Any) -> Any:
    spatial = a.shape[-len(sizes) :]
    if any(n % size for n, size in zip(spatial, sizes, strict=True)):
        return NotImplemented
    count = math.prod(n // size for n, size in zip(spatial, sizes, strict=True))
    made = m.linear(lambda digits: (func(digits, sizes) * count).round(), m.whole(a))
    return m.map(DIV, made, m.whole(count))
