"""The cost of a call of the reference: elements produced, operations, and values in a norm's statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
"""Recurrent layers: each step of a sample multiplies by all matrices once."""
KEPT_DIMS = {"batch_norm": (1,), "instance_norm": (0, 1)}
"""The dims that a normalisation keeps: statistics are taken over all others."""


class On(TorchFunctionMode):  # type: ignore[misc]
    """Makes every tensor on one device, whatever the text requests, and counts the cost."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self.elements = 0
        """Elements produced by torch's functions."""
        self.flops = 0
        """Floating-point operations of products and convolutions."""
        self.fewest = 0
        """The fewest values that a normalisation takes its statistics from; 0 where none does."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        given = dict(kwargs or {})
        if func in {torch.Tensor.cuda, torch.nn.Module.cuda}:
            return args[0]
        if given.get("device") is not None:
            given["device"] = self.device
        if func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], str):
            args = (args[0], torch.device(args[1]), *args[2:])
        result = func(*(self._place_value(value) for value in args), **given)
        name = getattr(func, "__name__", "")
        counted = _values_normalised(name, args, given)
        if counted:
            self.fewest = min(self.fewest or counted, counted)
        made = [v for v in several(result) if isinstance(v, torch.Tensor)]
        self.elements += sum(value.numel() for value in made)
        if made:
            self.flops += 2 * made[0].numel() * _terms(name, args, made[0])
        return result

    def _place_value(self, value: Any) -> Any:
        return torch.device(self.device) if isinstance(value, torch.device) else value


def several(result: Any) -> Sequence[Any]:
    """Return the results of a call that may have one or several."""
    return result if isinstance(result, tuple | list) else (result,)


def _terms(name: str, args: Sequence[Any], result: torch.Tensor) -> int:
    """Return the number of products summed in one element of the first result; 0 if it is not a product."""
    if name in RECURRENT and len(args) > 2 and isinstance(args[2], list | tuple):
        matrices = (w for w in args[2] if isinstance(w, torch.Tensor) and w.dim() == 2)
        return int(sum(w.numel() for w in matrices) // max(result.shape[-1], 1))
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    if len(tensors) < 2:
        return 0
    if name in {"matmul", "__matmul__", "mm", "bmm", "linear", "mv", "dot"}:
        return int(tensors[0].shape[-1]) if tensors[0].dim() else 0
    if name.startswith("conv_transpose"):
        each = tensors[1].numel() // max(tensors[1].shape[0], 1)
        return int(tensors[0].numel() * each // max(result.numel(), 1))
    if name.startswith("conv"):
        return int(tensors[1].numel() // max(tensors[1].shape[0], 1))
    if name == "scaled_dot_product_attention":
        return 2 * int(tensors[1].shape[-2])
    return 0


def _values_normalised(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Return the number of values in a norm's statistics; 0 for other functions."""
    if not args or not isinstance(args[0], torch.Tensor):
        return 0
    if name == "group_norm":
        groups = int(args[1] if len(args) > 1 else kwargs["num_groups"])
        return int(prod(args[0].shape[1:]) // groups)
    if name == "layer_norm":
        return prod(args[1] if len(args) > 1 else kwargs["normalized_shape"])
    kept = KEPT_DIMS.get(name)
    if kept is None:
        return 0
    if not kwargs.get("training", kwargs.get("use_input_stats", True)):
        return 0
    return prod(n for dim, n in enumerate(args[0].shape) if dim not in kept)
