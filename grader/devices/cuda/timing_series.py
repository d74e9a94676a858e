"""Times of one program's batches, and statistics of their median."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import hypot

import numpy as np

from grader.devices.cuda.timing_worker import Batch
from grader.records import Timing

NARROW = 0.02
"""Relative width of the interval at which a measurement is precise enough."""
RESAMPLES = 2000
BETWEEN = 0.015
"""Relative half-width of what differs from process to process and stays the same within one.

Sixteen programs with one and the same kernel, each in processes of its own, had speed-ups with a
standard deviation of 0.8 % of their mean on an H200 (2026-11-22), and intervals from their rounds of 1 %.
"""


@dataclass
class Series:
    """Times of one guest's batches, in seconds a call."""

    what: str
    seconds: list[float] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    """Seconds in each batch to make inputs and to answer."""
    queued: float | None = None
    """Seconds a call with the launches queued ahead, as the guest's events claim."""
    peak: int | None = None
    """Bytes of one call beside its inputs, as the guest reports."""

    def add(self, batch: Batch, calls: int, overhead: float) -> None:
        """Add one batch, without the time of an empty request."""
        self.seconds.append(max(batch.seconds - overhead, 1e-9) / calls)
        self.claimed.append(batch.claimed / calls)
        self.outside.append(batch.preparing + batch.answering)

    def timing(self, workload: str, note: str = "") -> Timing:
        """Return the distribution, in milliseconds."""
        values = 1e3 * np.array(self.seconds)
        low, high = interval(values)
        quarter, median, three = np.percentile(values, (25, 50, 75))
        return Timing(
            what=self.what,
            workload=workload,
            median=float(median),
            low=low,
            high=high,
            iqr=float(three - quarter),
            samples=len(values),
            converged=(high - low) <= NARROW * float(median),
            on_gpu=None if self.queued is None else 1e3 * min(self.queued, float(median) / 1e3),
            peak_bytes=self.peak,
            note=note,
        )


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the median (percentile method, Efron 1979)."""
    rng = np.random.default_rng(0)
    drawn = rng.choice(values, (RESAMPLES, len(values)))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    return float(low), float(high)


def narrow(series: Iterable[Series]) -> bool:
    """Whether every interval is under 2% of its median."""
    return all(one.timing("").converged for one in series)


def ratio(ours: Series, theirs: Series) -> tuple[float, float, float]:
    """Return the speed-up with its 95% interval.

    From the rounds' own ratios, and wider by what rounds of the same two processes can't show
    (Georges, Buytaert, Eeckhout 2007: several invocations, here known beforehand), and by half of
    the rounds' interquartile range: what scatters them, other work on the host, shifts them as well.
    """
    ratios = np.array(theirs.seconds) / np.array(ours.seconds)
    low, high = interval(ratios)
    lower, middle, upper = (float(part) for part in np.percentile(ratios, (25, 50, 75)))
    unseen = hypot(BETWEEN * middle, (upper - lower) / 2)
    return middle, middle - hypot(middle - low, unseen), middle + hypot(high - middle, unseen)
