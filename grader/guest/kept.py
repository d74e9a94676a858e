"""Results of earlier calls, kept to detect whether a later call overwrites them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grader.guest import tensors


class Kept:
    """Results of earlier calls, with their bytes at the time of their return."""

    MOST = 64 << 20
    """Most bytes; larger results aren't kept."""

    def __init__(self) -> None:
        self._room = self.MOST
        self._results: list[tuple[str, Any, bytes]] = []

    def add(self, name: str, leaves: Sequence[Any], captured: Sequence[tensors.Output]) -> None:
        """Keep the tensors of one call."""
        for leaf, output in zip(leaves, captured, strict=True):
            if isinstance(leaf, torch.Tensor) and len(output.body) <= self._room:
                self._room -= len(output.body)
                self._results.append((name, leaf, output.body))

    def changed_workloads(self, host_copy: Any) -> list[str]:
        """Return the workloads whose results have changed since."""
        names = [
            name
            for name, leaf, body in self._results
            if tensors.bytes_now(leaf, host_copy) not in {body, None}
        ]
        return list(dict.fromkeys(names))[:64]
