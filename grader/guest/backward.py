"""Calls of a model that also return gradients, where the last argument requests them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.matching import Origin

# Torch's own function, even if a submission rebinds the name.
_gradients_of = torch.autograd.grad
KIND = "backward"
"""Value of `kind` in the argument that requests gradients (`grader.records.Backward`)."""


class Caller:
    """Calls a model; with gradients, it returns the results followed by each gradient."""

    def __init__(
        self,
        model: Any,
        origins: Mapping[str, Origin] | None = None,
        *,
        call: Any = None,
        exact: bool = False,
    ) -> None:
        self._model = model
        self._call = model if call is None else call
        self._origins = origins or {}
        """The reference's weight for each tensor of the model, by the model's names."""
        self._exact = exact
        """Whether it is the reference, in which unused tensors have a gradient of zero."""

    def __call__(self, *args: Any, again: bool = False) -> Any:
        """Return the model's result, or results and gradients; `again`: keep the graph for a second pass."""
        asked = args[-1] if args else None
        if not isinstance(asked, dict) or asked.get("kind") != KIND:
            return self._call(*args)
        count = 1 + int(asked["upstream"])
        given, upstream = list(args[:-count]), args[-count:-1]
        for name in asked["by"]:
            if name.startswith("input "):
                given[int(name[6:]) - 1] = _leaf(given[int(name[6:]) - 1])
        if asked["way"] == "without grad":
            return tuple(tensors.flatten(self._call(*given))[1])
        by = [self._target(name, given) for name in asked["by"]]
        with torch.enable_grad():
            results = tensors.flatten(self._call(*given))[1]
            for _ in range(2 if asked["way"] == "twice" else 1):
                found = self._gradients(results, upstream, by, again=again)
        named = zip(asked["by"], found, strict=True)
        return (*results, *(self._as_asked(*one) for one in named))

    def _target(self, name: str, given: Sequence[Any]) -> torch.Tensor | None:
        """Return the tensor to differentiate by: an input, or a parameter; None for an unknown parameter."""
        if name.startswith("input "):
            tensor: torch.Tensor = given[int(name[6:]) - 1]
            return tensor
        module = isinstance(self._model, torch.nn.Module)
        held = dict(self._model.named_parameters()) if module else {}
        parameter = held.get(self._own_name(name))
        return None if parameter is None else parameter.requires_grad_(True)

    def _own_name(self, name: str) -> str:
        return next((own for own, o in self._origins.items() if o.name == name), name)

    def _gradients(
        self, results: Sequence[Any], upstream: Sequence[Any], by: Sequence[Any], *, again: bool
    ) -> list[torch.Tensor | None]:
        """Return a gradient for each target; None if there is none."""
        real = [r for r in results if isinstance(r, torch.Tensor) and r.is_floating_point()]
        if len(real) != len(upstream) or not all(map(_fits, upstream, real)):
            return [None] * len(by)  # the results' form is wrong, which the comparison reports
        flowing = [g.expand(r.shape) for g, r in zip(upstream, real, strict=True)]
        found = self._by_autograd(real, flowing, by, again=again) or self._by_hand(flowing, by)
        zeros = self._exact
        return [
            torch.zeros_like(target)
            if gradient is None and target is not None and zeros
            else gradient
            for target, gradient in zip(by, found, strict=True)
        ]

    def _by_autograd(
        self, real: Sequence[Any], flowing: Sequence[Any], by: Sequence[Any], *, again: bool
    ) -> list[Any]:
        """Return autograd's gradients; none where no result has a graph."""
        pairs = [(r, g) for r, g in zip(real, flowing, strict=True) if r.requires_grad]
        targets = [target for target in by if target is not None]
        if not pairs or not targets:
            return []
        found = iter(
            _gradients_of(
                [result for result, _ in pairs],
                targets,
                [gradient for _, gradient in pairs],
                retain_graph=True,
                create_graph=again,
                allow_unused=True,
            )
        )
        return [None if target is None else next(found) for target in by]

    def _by_hand(self, flowing: Sequence[Any], by: Sequence[Any]) -> list[Any]:
        """Return the gradients of the model's own `backward`, if it has one, in the requested order."""
        own = getattr(self._model, "backward", None)
        found = tensors.flatten(own(*flowing))[1] if callable(own) else []
        return (found + [None] * len(by))[: len(by)]

    def _as_asked(self, name: str, gradient: Any) -> torch.Tensor:
        """Return a gradient in the form of the reference's weight; an empty tensor for none."""
        if not isinstance(gradient, torch.Tensor):
            return torch.empty(0)
        origin = self._origins.get(self._own_name(name))
        if origin is None or origin.axes == tuple(range(gradient.dim())):
            return gradient
        back = sorted(range(len(origin.axes)), key=origin.axes.__getitem__)
        return gradient.permute(back) if len(back) == gradient.dim() else gradient


def _leaf(value: torch.Tensor) -> torch.Tensor:
    """Return the tensor as a leaf that requires a gradient, in the same memory."""
    return value if value.requires_grad else value.detach().requires_grad_(True)


def _fits(gradient: torch.Tensor, result: torch.Tensor) -> bool:
    """Whether an upstream gradient has a result's shape, or can be expanded to it."""
    pairs = zip(gradient.shape, result.shape, strict=False)
    return gradient.dim() == result.dim() and all(n in {1, m} for n, m in pairs)
