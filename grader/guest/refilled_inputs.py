"""Inputs of earlier calls, refilled in place with other values, as in a loop that reuses its buffers.

A program that caches results by a tensor's identity (its object, address or version) then returns results of stale
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.placement import Placement

Key = tuple[Any, ...]


class RefilledInputs:
    """The first inputs of each combination of shapes, with their values."""

    MOST = 64 << 20
    """Most bytes; larger inputs aren't kept."""

    def __init__(self, place: Placement) -> None:
        self._place = place
        self._room = self.MOST
        self._fresh = False
        self._known: dict[Key, tuple[list[torch.Tensor], list[bytes]]] = {}

    def take(self, values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return the values on the device: in tensors of an earlier call, or in new ones."""
        key = _key(values)
        bodies = [tensors.raw_bytes(value) for value in values]
        known = self._known.get(key)
        if known is not None and _key(known[0]) == key and self._again(known[1] == bodies):
            for tensor, value in zip(known[0], values, strict=True):
                self._place.refill(tensor, value)
            self._known[key] = (known[0], bodies)
            return known[0]
        made = [self._place.to_device(value) for value in values]
        size = sum(map(len, bodies))
        if known is None and size <= self._room:
            self._room -= size
            self._known[key] = (made, bodies)
        return made

    def _again(self, equal: bool) -> bool:
        """Whether earlier tensors are reused: always for other values, every second time for equal ones."""
        self._fresh = equal and not self._fresh
        return not self._fresh

    def release(self, values: Sequence[torch.Tensor]) -> None:
        """Stop refilling the inputs of these shapes, since a result shares their memory."""
        self._known[_key(values)] = ([], [])


def _key(values: Sequence[torch.Tensor]) -> Key:
    return tuple(map(tensors.form, values))
