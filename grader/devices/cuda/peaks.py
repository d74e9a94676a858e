"""The peaks of a GPU, measured by the same clock as the programs: a copy, and a matrix product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from grader.devices.cuda.timing import arguments
from grader.devices.cuda.timing_series import Series
from grader.devices.cuda.timing_worker import UNSEEN, TimingWorker
from grader.records import TensorSpec, Workload
from grader.sandbox import GuestJob

COPIED = 1 << 28
"""float32 elements of the copy that measures bandwidth."""
SIDE = 8192
"""Rows and columns of the two matrices whose product measures the rate."""
_COPY = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.clone()
"""
_PRODUCT = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return x @ y
"""

Enter = Callable[[GuestJob], AbstractContextManager[TimingWorker]]
"""Starts a guest for a job."""


def bandwidth(enter: Enter, environment: dict[str, str]) -> float:
    """Return the bytes a second that a copy of 1 GiB moves, counted both ways."""
    spec = TensorSpec(shape=(COPIED,), distribution="uniform")
    return 8 * COPIED / _seconds(enter, environment, _COPY, [spec], calls=8)


def product_rate(enter: Enter, environment: dict[str, str], dtype: str) -> float:
    """Return the floating-point operations a second of a product; float32 without TF32."""
    spec = TensorSpec(shape=(SIDE, SIDE), dtype=dtype, distribution="uniform")
    return 2 * SIDE**3 / _seconds(enter, environment, _PRODUCT, [spec, spec], calls=3)


def _seconds(
    enter: Enter, environment: dict[str, str], code: str, specs: Sequence[TensorSpec], calls: int
) -> float:
    """Return the shortest time of one call."""
    workload = Workload(name="peak", role="full", inputs=tuple(specs))
    job = GuestJob("reference", code, "Model", "cuda", init=(), env=environment)
    random = np.random.default_rng()
    series = Series("peak")
    with enter(job) as worker:
        worker.prepare(arguments(workload), calls)
        overhead = min(worker.overhead() for _ in range(5))
        for turn in range(8):
            batch = worker.play(calls, int(random.integers(1 << 40)), UNSEEN)
            if turn > 1:
                series.add(batch, calls, overhead)
    # The minimum, since any disturbance makes a batch slower.
    return min(series.seconds)
