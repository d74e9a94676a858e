"""What single elements of a reference's result depend on: their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grader.guest import tensors


def gradients(model: Any, args: Sequence[Any], asked: Sequence[Sequence[int]]) -> list[Any]:
    """Return, for each asked element (output, flat index), its gradients.

    By each argument of floating point in order, then by each parameter in the order of their names.
    """
    with torch.enable_grad():
        given = [_leaf(value) if isinstance(value, torch.Tensor) else value for value in args]
        weights = [held for _, held in sorted(model.named_parameters())]
        kept = [weight.requires_grad for weight in weights]
        for weight in weights:
            weight.requires_grad_(True)
        try:
            _, leaves = tensors.flatten(model(*given))
            by = [v for v in given if isinstance(v, torch.Tensor) and v.is_floating_point()]
            found = [_gradient(leaves, one, [*by, *weights]) for one in asked]
        finally:
            for weight, needed in zip(weights, kept, strict=True):
                weight.requires_grad_(needed)
    return [gradient for row in found for gradient in row]


def _leaf(value: torch.Tensor) -> torch.Tensor:
    copied = value.detach().clone()
    return copied.requires_grad_(True) if value.is_floating_point() else copied


def _gradient(
    leaves: Sequence[Any], one: Sequence[int], by: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    output, index = one
    element = leaves[output].reshape(-1)[index]
    if not element.requires_grad:
        return [torch.zeros_like(value) for value in by]
    found = torch.autograd.grad(element, by, retain_graph=True, allow_unused=True)
    return [
        torch.zeros_like(value) if gradient is None else gradient.detach()
        for value, gradient in zip(by, found, strict=True)
    ]
