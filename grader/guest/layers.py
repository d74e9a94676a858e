"""A model's modules in a trace: those that are one operation, their tensors, and the results of recurrent ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

OPENED = (
    nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict, nn.MultiheadAttention,
    nn.Transformer, nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.TransformerDecoder, nn.TransformerDecoderLayer,
)  # fmt: skip
"""Torch's modules that are composed of others, or of functions."""


def argument_names(model: nn.Module) -> Iterator[str]:
    """Yield the names of the arguments of a model's forward."""
    code = getattr(type(model).forward, "__code__", None)
    if code is not None:
        yield from code.co_varnames[1 : code.co_argcount]


def own_tensors(model: nn.Module) -> Iterator[tuple[int, str]]:
    """Yield a model's tensors, with their paths."""
    for path, module in model.named_modules():
        dot = f"{path}." if path else ""
        held = {
            **vars(module).get("_parameters", {}),
            **vars(module).get("_buffers", {}),
            **vars(module),
        }
        for name, value in held.items():
            if isinstance(value, torch.Tensor):
                yield id(value), f"{dot}{name}"


def is_leaf(module: nn.Module) -> bool:
    """Whether a module is one operation: torch's own, and not composed of others."""
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, OPENED)


def recurrent(layer: nn.RNNBase, x: torch.Tensor, _states: Any = None) -> Any:
    """Return a recurrent layer's result shapes without running its steps, which take minutes on meta tensors."""
    ways = 2 if layer.bidirectional else 1
    hidden, out = layer.hidden_size, layer.proj_size or layer.hidden_size
    batch = x.shape[:1] if layer.batch_first else x.shape[1:2]
    states = [
        x.new_empty((layer.num_layers * ways, *(batch if x.dim() == 3 else ()), size))
        for size in (out, hidden)
    ]
    result = x.new_empty((*x.shape[:-1], out * ways))
    return (result, tuple(states) if layer.mode == "LSTM" else states[0])
