"""Replay of a call's launches under changes, in the simulator alone: without host code, from the original memory."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import torch

MOST_SAMPLE = 1 << 20


class Replay:
    """One call's launches, and the addresses of the sampled elements of its results."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._places: list[tuple[torch.Tensor, torch.dtype] | None] = []
        runtime.kgsim_gather.argtypes = (ctypes.c_void_p, *2 * (ctypes.c_size_t,), ctypes.c_void_p)
        runtime.kgsim_first_launch.restype = ctypes.c_size_t
        runtime.kgsim_first_launch.argtypes = (ctypes.c_size_t, ctypes.c_uint32)
        runtime.kgsim_replays_from.argtypes = (ctypes.c_size_t,)
        runtime.kgsim_replay.argtypes = (ctypes.c_size_t,)

    def begin(self) -> None:
        """Start recording the next call."""
        self._runtime.kgsim_record(1)

    def end(self, leaves: Sequence[Any], sample: Sequence[Sequence[int] | None]) -> None:
        """Stop recording at the end of the call, with these results."""
        self._runtime.kgsim_record(0)
        self._runtime.kgsim_end_unchanged()
        self._places = [_place_samples(leaf, sample[n]) for n, leaf in enumerate(leaves)]

    def first(self, change: Mapping[str, Any]) -> int:
        """Return the first launch that a change affects; negative where forward has to run."""
        if "text" in change or "settings" in change or None in self._places:
            return -1
        launch = min((one[0] for one in change.get("given", ())), default=-1)
        if key := change.get("code"):
            launch = self._runtime.kgsim_first_launch(*map(int, key.split(".")))
        return int(self._runtime.kgsim_replays_from(launch)) if launch >= 0 else -1

    def outputs(self, first: int) -> list[torch.Tensor] | None:
        """Run the launches from this one on, and return the sampled elements; None where they fail."""
        if self._runtime.kgsim_replay(first) != 0:
            return None
        return [self._gather_elements(*place) for place in self._places if place is not None]

    def _gather_elements(self, addresses: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        values = torch.empty(len(addresses), dtype=dtype)
        count, size = len(addresses), dtype.itemsize
        self._runtime.kgsim_gather(addresses.data_ptr(), count, size, values.data_ptr())
        return values


def _place_samples(
    leaf: Any, sample: Sequence[int] | None
) -> tuple[torch.Tensor, torch.dtype] | None:
    """Return the addresses of a result's sampled elements, and their type; None where it is no tensor of the GPU."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_cuda or leaf.layout != torch.strided:
        return None
    if leaf.is_conj() or leaf.is_neg():
        return None
    count = min(leaf.numel(), MOST_SAMPLE)
    left = torch.arange(count) if sample is None else torch.tensor(sample, dtype=torch.int64)
    addresses = torch.full_like(left, leaf.data_ptr())
    for size, stride in zip(reversed(leaf.shape), reversed(leaf.stride()), strict=True):
        addresses += left % size * (stride * leaf.itemsize)
        left = left // size
    return addresses, leaf.dtype
