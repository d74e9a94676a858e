"""Decomposition of a reference's operators into the smaller ones that kernels compute, each with its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

MOST = 64
"""Most values that are kept, each a whole tensor."""


class Steps(TorchDispatchMode):  # type: ignore[misc]
    """Keeps each operator's result, and those of its decomposition where there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[torch.Tensor] = []
        self._known: set[tuple[int, int]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = str(func).rpartition(".")[0]
        for apart in (decomposition_table.get(func), getattr(func, "decompose", None)):
            if apart is not None and name not in WHOLE:
                with self:
                    result = apart(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        result = func(*args, **kwargs)
        beside = BESIDE.get(name)
        for one in beside(func, *args, **kwargs) if beside else ():
            self._keep(one)
        for one in result if isinstance(result, (tuple, list)) else (result,):
            self._keep(one)
        return result

    def _keep(self, value: Any) -> None:
        """Keep a value unless it is another view of a kept one."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return
        key = (value.untyped_storage().data_ptr(), value.numel())
        if len(self.values) < MOST and value.numel() and key not in self._known:
            self._known.add(key)
            self.values.append(value.detach())


class Formulas(TorchFunctionMode):  # type: ignore[misc]
    """Adds the intermediate values of a function's textbook formula, where torch computes it differently."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.cosine_similarity:
            _products(args[0], args[1], (kwargs or {}).get("dim", args[2] if len(args) > 2 else 1))
        return func(*args, **(kwargs or {}))


def _products(one: torch.Tensor, other: torch.Tensor, dim: int) -> None:
    """Compute the products of two tensors and of each with itself, and their sums."""
    sums = [(left * right).sum(dim) for left, right in ((one, other), (one, one), (other, other))]
    norms = (sums[1] * sums[2]).sqrt()
    sums[0].div(norms)


def _of_variance(
    _: Any, value: torch.Tensor, dims: Any = None, *__: Any, **___: Any
) -> Iterator[torch.Tensor]:
    """Yield the mean, and the squares before and after its subtraction, for one-pass and two-pass formulas."""
    along = list(range(value.dim())) if dims is None else dims
    mean = value.mean(along, keepdim=True)
    yield mean
    for squares in ((value - mean) ** 2, value**2):
        yield squares
        total = squares.sum(along, keepdim=True)
        yield from (total, total / (value.numel() / total.numel()))


def _of_average(func: Any, *args: Any, **kwargs: Any) -> Iterator[torch.Tensor]:
    """Yield the sums of a pool's windows."""
    yield func(*args, **{**kwargs, "divisor_override": 1})


def _of_convolution(func: Any, *args: Any, **__: Any) -> Iterator[torch.Tensor]:
    """Yield the result without the bias."""
    yield func(*args[:2], None, *args[3:])


BESIDE: Mapping[str, Callable[..., Iterator[torch.Tensor]]] = {
    "prims.var": _of_variance,
    "aten.convolution": _of_convolution,
    "aten.avg_pool2d": _of_average,
    "aten.avg_pool3d": _of_average,
}
"""Intermediate computations of operators that torch can't decompose."""
WHOLE = frozenset({"aten.cumsum", "aten.cumprod"})
"""Operators that torch decomposes into tensors of quadratic size."""
