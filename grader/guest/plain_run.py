"""A plain run of a program: nothing of the grader's between it and torch.

No modes, no logs, no memory filled beforehand, no events, no kernels of ours on its results. A failure elsewhere that
does not occur here is the grader's own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch

from grader.guest import tensors
from grader.guest.placement import Placement
from grader.guest.protocol import Frame
from grader.guest.timing import Batches, blocks, empty, fill


def forward(model: Any, args: Sequence[Any], place: Placement) -> tuple[str, list[tensors.Output]]:
    """Call the model once; return the structure of its results, and the results."""
    with torch.no_grad():
        result = model(*args)
        place.synchronize()
        structure, leaves = tensors.flatten(result)
        given = [(i, arg) for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        return structure, [tensors.capture(leaf, place.to_host, given) for leaf in leaves]


class Calls(Batches):
    """Single calls on inputs made from the host's seed; answers the requests of a timed batch."""

    def _time(self, frame: Frame) -> None:
        """Make buffers for the inputs of one call."""
        self._specs = json.loads(bytes(frame.body))
        self._arguments = [[empty(v) if kind == "made" else v for kind, v in self._specs]]

    def _fill(self, frame: Frame) -> None:
        """Draw new inputs in place."""
        self._results.clear()
        for i, (kind, spec) in enumerate(self._specs):
            if kind == "made":
                fill(self._arguments[0][i], spec, frame.header["seed"] + i)
        torch.cuda.synchronize()

    def _go(self, frame: Frame) -> float:  # noqa: ARG002 - always one call, and no events
        with torch.no_grad():
            results = [self._model(*given) for given in self._arguments]
            torch.cuda.synchronize()
        self._results = [tensors.flatten(result)[1] for result in results]
        return 0.0

    def _take(self, frame: Frame) -> None:
        """Copy the requested elements, block by block."""
        wanted = json.loads(bytes(frame.body))
        with torch.no_grad():
            self._taken = [_some(leaf, wanted) for results in self._results for leaf in results]


def _some(leaf: Any, wanted: Any) -> torch.Tensor:
    """Return the requested elements of a result, as the only row of a CPU tensor."""
    flat = torch.as_tensor(leaf).reshape(-1)
    starts, length = blocks(flat.numel(), wanted)
    return torch.cat([flat[start : start + length].cpu() for start in starts])[None]
