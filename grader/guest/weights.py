"""Loads the host's weights into a submission's own parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from grader.guest.matching import Origin, match


def tensors_of(model: Any) -> dict[str, torch.Tensor]:
    """Return parameters and buffers of a module by name; empty for anything else."""
    held = model.state_dict() if isinstance(model, torch.nn.Module) else {}
    return {
        name: value
        for name, value in held.items()
        if isinstance(value, torch.Tensor) and not is_lazy(value)
    }


def load(
    model: Any,
    given: Mapping[str, torch.Tensor],
    initial: Mapping[str, torch.Tensor] | None = None,
) -> tuple[Mapping[str, Origin], str]:
    """Copy the weights into the model and return the matches, also in words for the report.

    `initial` are the reference's tensors after construction under the model's seed, which identify the tensors by value
    (`matching`).
    """
    own = tensors_of(model)
    if not given:
        return {}, ""
    on_host = {name: value.detach().cpu() for name, value in own.items()}
    found = match(on_host, initial or {}, given)
    with torch.no_grad():
        for name, origin in found.items():
            value = given[origin.name].permute(origin.axes)
            own[name].copy_(value.reshape(own[name].shape))
    return found, _summary(found, given, own)


def _summary(found: Mapping[str, Origin], given: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    counts = Counter(origin.how for origin in found.values())
    counts["had no place"] = len(given.keys() - {origin.name for origin in found.values()})
    counts["of the submission's own were left as made"] = len(own.keys() - found.keys())
    return ", ".join(f"{count} {how}" for how, count in counts.items() if count)
