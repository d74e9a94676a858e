"""Weights made by the host into a submission's own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def tensors_of(model: Any) -> dict[str, torch.Tensor]:
    """Parameters and buffers of a module by name; empty for anything that is no module."""
    return dict(model.state_dict()) if isinstance(model, torch.nn.Module) else {}


def load(model: Any, given: Mapping[str, torch.Tensor]) -> str:
    """Copy the weights into the model and say in words how they were matched.

    First by name and shape, then what is left by order among equal shapes, then by order among
    equal element counts (a transposed or flattened copy can't be told apart, so it is said).
    """
    own = tensors_of(model)
    if not given:
        return ""
    pairs = {name: name for name in given if name in own and own[name].shape == given[name].shape}
    by_name = len(pairs)
    by_shape = _pair(pairs, own, given, lambda tensor: tuple(tensor.shape))
    by_size = _pair(pairs, own, given, lambda tensor: tensor.numel())
    with torch.no_grad():
        for source, target in pairs.items():
            own[target].copy_(given[source].reshape(own[target].shape))
    return _summary(by_name, by_shape, by_size, len(given) - len(pairs), len(own) - len(pairs))


def _pair(pairs: dict[str, str], own: Mapping[str, Any], given: Mapping[str, Any], key: Any) -> int:
    """Match what is unmatched by order among equal keys; return how many were."""
    matched = 0
    taken = set(pairs.values())
    for source in [name for name in given if name not in pairs]:
        wanted = key(given[source])
        target = next((n for n in own if n not in taken and key(own[n]) == wanted), None)
        if target is not None:
            pairs[source] = target
            taken.add(target)
            matched += 1
    return matched


def _summary(by_name: int, by_shape: int, by_size: int, unplaced: int, unset: int) -> str:
    counts = (
        (by_name, "by name and shape"),
        (by_shape, "by order among equal shapes"),
        (by_size, "by order among equal sizes"),
        (unplaced, "had no place"),
        (unset, "of the submission's own were left as made"),
    )
    return ", ".join(f"{count} {how}" for count, how in counts if count)
