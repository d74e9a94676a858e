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

    First by name and shape, then by what their names have in common, then matrices that the model keeps transposed, then what is left by
    order among equal shapes, then by order among equal element counts (a flattened copy, or one
    with its axes in another order, can't be told apart, so it is said).
    """
    own = tensors_of(model)
    if not given:
        return ""
    pairs = {name: name for name in given if name in own and own[name].shape == given[name].shape}
    by_name = len(pairs)
    pairs |= _alike(pairs, own, given)
    alike = len(pairs) - by_name
    turned = _transposed(pairs, own, given)
    pairs |= turned
    by_shape = _pair(pairs, own, given, lambda tensor: tuple(tensor.shape))
    by_size = _pair(pairs, own, given, lambda tensor: tensor.numel())
    with torch.no_grad():
        for source, target in pairs.items():
            value = given[source].T if source in turned else given[source]
            own[target].copy_(value.reshape(own[target].shape))
    found = (by_name, alike, len(turned), by_shape, by_size)
    return _summary(*found, len(given) - len(pairs), len(own) - len(pairs))


def _alike(
    pairs: Mapping[str, str], own: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, str]:
    """Match names of one shape where one ends as the other does but for its dots, and no third does.

    `gru.weight_ih_l0` and `weight_ih_l.0`; `conv.bias` and `bias`.
    """
    taken = set(pairs.values())
    left = {name: _words(name) for name in given if name not in pairs}
    free = {name: _words(name) for name in own if name not in taken}
    ends = [
        (source, target)
        for source, one in left.items()
        for target, other in free.items()
        if (one.endswith(other) or other.endswith(one)) and given[source].shape == own[target].shape
    ]
    sources = [source for source, _ in ends]
    targets = [target for _, target in ends]
    return {a: b for a, b in ends if sources.count(a) == targets.count(b) == 1}


def _words(name: str) -> str:
    return "".join(filter(str.isalnum, name))


def _transposed(
    pairs: Mapping[str, str], own: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, str]:
    """Match all matrices in their order where they fit transposed and don't fit as they are."""
    taken = set(pairs.values())
    sources = [name for name in given if name not in pairs and given[name].ndim == 2]
    targets = [name for name in own if name not in taken and own[name].ndim == 2]
    shapes = [own[name].shape for name in targets]
    if shapes == [given[name].shape for name in sources]:
        return {}
    fits = shapes == [given[name].T.shape for name in sources]
    return dict(zip(sources, targets, strict=True)) if fits else {}


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


def _summary(
    by_name: int, alike: int, turned: int, by_shape: int, by_size: int, unplaced: int, unset: int
) -> str:
    counts = (
        (by_name, "by name and shape"),
        (alike, "by the end of the name"),
        (turned, "transposed, in their order"),
        (by_shape, "by order among equal shapes"),
        (by_size, "by order among equal sizes"),
        (unplaced, "had no place"),
        (unset, "of the submission's own were left as made"),
    )
    return ", ".join(f"{count} {how}" for count, how in counts if count)
