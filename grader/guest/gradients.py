"""Gradients and intermediate values of single elements of a reference's result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.backward import Caller
from grader.guest.taken_apart import Formulas, Steps


def gradients(
    model: Any, caller: Caller, args: Sequence[Any], asked: Sequence[Sequence[int]]
) -> list[Any]:
    """Return, for each asked element (output, flat index), its gradients.

    By each argument of floating point in order, then by each parameter in the order of their names.
    """
    with torch.enable_grad():
        given = [_leaf(value) if isinstance(value, torch.Tensor) else value for value in args]
        held = {**model.state_dict(), **dict(model.named_parameters())}
        weights = [held[name] for name in sorted(held) if held[name].is_floating_point()]
        kept = [weight.requires_grad for weight in weights]
        for weight in weights:
            weight.requires_grad_(True)
        try:
            _, leaves = tensors.flatten(caller(*given, again=True))
            by = [v for v in given if isinstance(v, torch.Tensor) and v.is_floating_point()]
            found = [_gradient(leaves, one, [*by, *weights]) for one in asked]
        finally:
            for weight, needed in zip(weights, kept, strict=True):
                weight.requires_grad_(needed)
    return [*(gradient for row in found for gradient in row), *_on_the_way(caller, args, asked)]


FEW, MANY = 1 << 11, 1 << 16
"""Most elements of a value that are all kept, by default and in exact reports."""


def _on_the_way(
    caller: Caller, args: Sequence[Any], asked: Sequence[Sequence[int]]
) -> list[torch.Tensor]:
    steps = Steps()
    try:
        with torch.no_grad(), steps, Formulas():
            result = caller(*args)
    except Exception:  # noqa: BLE001 - what can't be taken apart tells nothing
        return [torch.zeros((len(asked), 0), dtype=torch.float64), *[torch.zeros(0)] * 2]
    _, leaves = tensors.flatten(result)
    rows = []
    for output, flat in asked:
        index = (
            torch.unravel_index(torch.tensor(flat), leaves[output].shape)
            if leaves[output].dim()
            else ()
        )
        rows.append(
            [
                _where_it_stands(value, [int(i) for i in index], leaves[output].shape)
                for value in steps.values
            ]
        )
    there = torch.tensor(rows, dtype=torch.float64).reshape(len(asked), len(steps.values))
    few, many = (
        torch.cat([torch.zeros(0, dtype=torch.float64), *(v.double().flatten() for v in values)])
        for values in (
            [value for value in steps.values if 1 < value.numel() <= FEW],
            [value for value in steps.values if FEW < value.numel() <= MANY],
        )
    )
    return [there, few.unique(), many.unique()]


def _where_it_stands(value: torch.Tensor, index: list[int], shape: Any) -> float:
    """Return a step's value at the element's index, along the dims that the step still has."""
    if value.numel() == 1:
        return float(value)
    if value.dim() <= len(index):
        for at in ([*index[: value.dim()]], [*index[len(index) - value.dim() :]]):
            place = [i if n > 1 else 0 for i, n in zip(at, value.shape, strict=True)]
            fits = all(n in {1, m} for n, m in zip(value.shape, shape, strict=False))
            if fits and all(i < n for i, n in zip(place, value.shape, strict=True)):
                return float(value[tuple(place)])
    for dims in range(
        len(index), 0, -1
    ):  # seen in another shape: a row for each of the leading dims
        if value.numel() == math.prod(shape[:dims]):
            flat = sum(i * math.prod(shape[d + 1 : dims]) for d, i in enumerate(index[:dims]))
            return float(value.flatten()[flat])
    return float("nan")


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
