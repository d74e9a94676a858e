"""A reference with other weights for one call: the result of a program that ignores or confuses a weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from grader.guest.weights import tensors_of


@contextmanager
def hold_altered(model: Any, change: Mapping[str, Any] | None) -> Iterator[None]:
    """Change a model's weights inside the context: `zero` or `redraw` some by name, or `swap` two dims of one.

    `change` has one of these keys: `zero` and `redraw` with names, `swap` with a name and two dims of
    equal length. They are restored afterwards.
    """
    state = tensors_of(model) if change else {}
    kept = {name: tensor.clone() for name, tensor in state.items()}
    try:
        with torch.no_grad():
            for how, what in (change or {}).items():
                _CHANGES[how](state, what)
        yield
    finally:
        with torch.no_grad():
            for name, tensor in kept.items():
                state[name].copy_(tensor)


def _zero(state: Mapping[str, torch.Tensor], names: list[str]) -> None:
    for name in names:
        state[name].zero_()


def _redraw(state: Mapping[str, torch.Tensor], names: list[str]) -> None:
    numbers = torch.Generator().manual_seed(1)
    for name in names:
        tensor = state[name]
        drawn = torch.randn(tensor.shape, generator=numbers, dtype=tensor.dtype)
        tensor.copy_(tensor.mean() + tensor.std() * drawn)


def _swap(state: Mapping[str, torch.Tensor], what: list[Any]) -> None:
    name, first, second = what
    state[name].copy_(state[name].transpose(first, second).clone())


_CHANGES = {"zero": _zero, "redraw": _redraw, "swap": _swap}
