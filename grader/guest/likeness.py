"""Description of an input's values, so that similar ones can be drawn.

Most inputs are independent random numbers. Some are not, and a reference fails or is meaningless on random numbers:
offsets and sorted ids, permutations, labels with an ignore value, masks.
"""

from __future__ import annotations

from typing import Any

import torch

LOOKED_AT = 65536
"""Most elements whose distinct values are counted."""
FEW = 3
"""Most distinct values of a mask."""
CHANCE = 16
"""Least number of elements for which a pattern is not chance."""
STEPS = 2048
"""Most multiples of a step, between the lowest and the highest value, for real numbers to count as multiples of it."""
STANDS_OUT = 0.05
"""Least share of elements with the same real number that is not chance: zeros after a ReLU."""


def summary(tensor: torch.Tensor) -> dict[str, Any]:
    """Return the description of a tensor's values; None for an empty or complex one."""
    if tensor.numel() == 0 or tensor.is_complex():
        return {}
    every = tensor.detach().double()
    found = _filler(every, tensor.dtype)
    values = every[every != found["filler"]] if found else every[every.isfinite()]
    if values.numel() == 0:
        return {}
    distinct = torch.unique(values.reshape(-1)[:LOOKED_AT])
    return {
        "low": float(values.min()),
        "high": float(values.max()),
        "mean": float(values.mean()),
        "deviation": float(values.std()) if values.numel() > 1 else 0.0,
        "whole": bool((values == values.round()).all()),
        "distinct": [float(v) for v in distinct] if distinct.numel() <= FEW else [],
        "structure": "none" if found else structure_of(every),
        "series": "" if found or tensor.is_floating_point() else _series(every),
        "step": _step(values, distinct) if tensor.is_floating_point() else 0.0,
        "order": _order(tensor),
        **found,
    }


def _filler(values: torch.Tensor, dtype: torch.dtype) -> dict[str, Any]:
    """Return the filler value, its share and its place; None if there is none.

    Fillers are an infinity, the only negative number among indices, the value of a mask, or a frequent real number.
    """
    distinct = torch.unique(values.reshape(-1)[:LOOKED_AT]).tolist()
    if len(distinct) < 2 or values.numel() < FEW:
        return {}
    if len(distinct) == 2 and (found := _of_mask(values, distinct)):
        return found
    infinite = [v for v in distinct if v in {float("inf"), float("-inf")}]
    alone = not dtype.is_floating_point and distinct[0] < 0 <= distinct[1]
    for value in (*infinite, *distinct[: int(alone)], *_standing_out(values, dtype)):
        return {"filler": value, "share": _share(values, value), "place": _place(values == value)}
    return {}


def _standing_out(values: torch.Tensor, dtype: torch.dtype) -> list[float]:
    """Return the real number that many elements have, where the others differ from each other."""
    if not dtype.is_floating_point or values.numel() < CHANCE or structure_of(values) != "none":
        return []
    looked = values.reshape(-1)[:LOOKED_AT]
    distinct, counts = torch.unique(looked, return_counts=True)
    most = int(counts.argmax())
    few = distinct.numel() < looked.numel() // 4
    return [] if few or counts[most] < STANDS_OUT * looked.numel() else [float(distinct[most])]


def _step(values: torch.Tensor, distinct: torch.Tensor) -> float:
    """Return the step that real values are multiples of, where many are equal or all are integers; else 0."""
    if distinct.numel() <= FEW:
        return 0.0
    step = float(distinct.diff().min())
    counts = distinct / step
    even = bool(((counts - counts.round()).abs() < 0.01).all())
    equal = distinct.numel() <= min(values.numel(), LOOKED_AT) // 2
    if even and equal and counts.abs().max() <= STEPS:
        return step
    return 1.0 if bool((values == values.round()).all()) else 0.0


def _of_mask(values: torch.Tensor, two: list[float]) -> dict[str, Any]:
    """Return which of two values is placed in a pattern or, if they are not neighbours, is not 0."""
    if values.numel() >= CHANCE:
        for value in two:
            if (place := _place(values == value)) != "anywhere":
                return {"filler": value, "share": _share(values, value), "place": place}
    if two[1] - two[0] > 2 and 0 in two:
        value = next(v for v in two if v)
        return {"filler": value, "share": _share(values, value), "place": "anywhere"}
    return {}


def _share(values: torch.Tensor, value: float) -> float:
    return float((values == value).double().mean())


def _place(marked: torch.Tensor) -> str:
    """Return the place of the marked elements: all of a triangle, the end of each row, or anywhere."""
    if marked.dim() >= 2 and marked.shape[-1] == marked.shape[-2] > 2:
        ones = torch.ones_like(marked)
        triangles = {
            "upper": ones.triu(),
            "strictly-upper": ones.triu(1),
            "lower": ones.tril(),
            "strictly-lower": ones.tril(-1),
        }
        for name, triangle in triangles.items():
            if torch.equal(marked, triangle):
                return name
    steps = marked.int().diff(dim=-1)
    return "tail" if marked.dim() and bool((steps >= 0).all() and (steps > 0).any()) else "anywhere"


def _series(values: torch.Tensor) -> str:
    """Return the structure of integers along the last dim: sorted, or each number once."""
    length = values.shape[-1] if values.dim() else 0
    if length < FEW:
        return ""
    steps = values.diff(dim=-1)
    if bool((steps >= 0).all()) and bool((steps > 0).any()):
        few = int(steps.min()), int(steps.max())
        return "range" if few == (1, 1) else "increasing" if few[0] else "ascending"
    every = torch.arange(length, dtype=values.dtype) + values.min()
    return "permutation" if torch.equal(values.sort(-1).values, every.expand_as(values)) else ""


def _order(tensor: torch.Tensor) -> list[int]:
    """Return the dims in memory order after a copy to a GPU, the outermost first; empty for their own order."""
    steps = torch.empty_like(tensor, device="meta").stride()
    order = sorted(range(tensor.dim()), key=lambda dim: -steps[dim])
    return [] if tensor.is_contiguous() or order == sorted(order) else order


def structure_of(values: torch.Tensor) -> str:
    """Return the structure of the last two dims: a triangle of zeros, a symmetry, rows that sum to one; else `none`."""
    if values.dim() < 2 or values.shape[-1] < FEW:
        return "none"
    rows = values.sum(dim=-1)
    if bool((values >= 0).all()) and bool(((rows - 1).abs() < 1e-4).all()):
        return "simplex"
    if values.shape[-1] != values.shape[-2]:
        return "none"
    checks = {
        "upper": torch.triu(values),
        "lower": torch.tril(values),
        "symmetric": values.transpose(-1, -2),
    }
    return next((name for name, other in checks.items() if torch.equal(values, other)), "none")
