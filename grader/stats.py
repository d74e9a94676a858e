"""Scores of a run: correctness, fast_p, pass@k, geometric-mean speed-up, each with its interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from grader.records import Record, Status

RESAMPLES = 2000
UNJUDGED: frozenset[Status] = frozenset({"grader_error", "not_run"})
"""Statuses that are neither right nor wrong, since the sample is not at fault."""
_AT_ONCE = 1 << 16
"""Numbers drawn at a time, so that memory doesn't grow with the number of tasks."""
THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0)


class Interval(Record):
    """An estimate with its 95% bootstrap interval (percentile method, resampling tasks).

    Where all tasks are alike no resample differs, and the bound is the exact one for that many independent draws.
    """

    value: float
    low: float
    high: float
    n: int
    """Number of samples that it is based on."""


class Outcome(Protocol):
    """The properties of a sample that scores need."""

    @property
    def sample(self) -> str:
        """Name, for a sample with an unknown task."""

    @property
    def task(self) -> str | None:
        """Name of the task, if it is known."""

    @property
    def status(self) -> Status:
        """The status."""

    @property
    def compiled(self) -> bool | None:
        """Whether it was built; None where there was no build."""

    @property
    def speedup(self) -> float | None:
        """Over eager torch, where it was measured."""


T = TypeVar("T", bound=Outcome)


class Scores(Record):
    """The scores of a run."""

    samples: int
    graded: int
    """Number without those on which the grader itself failed or that the device couldn't run."""
    compiled: Interval | None
    correct: Interval | None
    unsound: Interval | None
    """Number of samples with right values by luck, despite undefined behaviour; not counted as correct."""
    fast: dict[str, Interval]
    """fast_p by p: the share of graded samples that are correct and faster than p times eager."""
    pass_at: dict[str, float]
    """pass@k by k: unbiased estimate, mean over tasks with at least k samples."""
    speedup: float | None
    """Geometric mean over the correct samples with a measured speed-up."""


def scores(outcomes: Iterable[Outcome]) -> Scores:
    """Return the scores; a failure of the grader's own counts neither for nor against."""
    everything = list(outcomes)
    graded = [item for item in everything if item.status not in UNJUDGED]
    measured = [item.speedup for item in graded if is_right(item) and item.speedup]
    return Scores(
        samples=len(everything),
        graded=len(graded),
        compiled=share(graded, lambda item: item.compiled is True),
        correct=share(graded, is_right),
        unsound=share(graded, lambda item: item.status == "unsound"),
        fast={
            f"{threshold:g}": interval
            for threshold in THRESHOLDS
            if measured and (interval := share(graded, partial(is_faster, threshold)))
        },
        pass_at=_pass_at(graded),
        speedup=math.exp(sum(map(math.log, measured)) / len(measured)) if measured else None,
    )


def is_right(outcome: Outcome) -> bool:
    """Whether the sample is correct."""
    return outcome.status == "correct"


def is_faster(threshold: float, outcome: Outcome) -> bool:
    """Whether the sample is correct and more than `p` times as fast as eager torch."""
    faster = outcome.speedup is not None and outcome.speedup > threshold
    return is_right(outcome) and (threshold == 0.0 or faster)


def pass_at_k(n: int, right: int, k: int) -> float:
    """Return the chance that one of k samples drawn from n, of which `right` pass, passes.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021, equation 1.
    Raises ValueError unless 0 <= right <= n and 1 <= k <= n.
    """
    if not (0 <= right <= n and 1 <= k <= n):
        msg = f"pass@{k} of {right} right in {n}"
        raise ValueError(msg)
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def share(outcomes: Sequence[T], holds: Callable[[T], bool]) -> Interval | None:
    """Return the share of samples with a property, resampling whole tasks since their samples are dependent."""
    if not outcomes:
        return None
    by_task: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        by_task[outcome.task or outcome.sample].append(holds(outcome))
    hits = np.array([sum(values) for values in by_task.values()], dtype=float)
    sizes = np.array([len(values) for values in by_task.values()], dtype=float)
    low, high = np.quantile(_draw_resamples(hits, sizes), (0.025, 0.975))
    value, seldom = float(hits.sum() / sizes.sum()), 0.025 ** (1 / len(hits))
    low, high = (
        (low, 1 - seldom) if value == 0.0 else (seldom, high) if value == 1.0 else (low, high)
    )
    return Interval(value=value, low=float(low), high=float(high), n=len(outcomes))


def _draw_resamples(hits: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share in each of RESAMPLES draws of as many tasks, with replacement."""
    generator, tasks = np.random.default_rng(0), len(hits)
    drawn = np.empty(RESAMPLES)
    step = max(1, _AT_ONCE // tasks)
    for first in range(0, RESAMPLES, step):
        some = drawn[first : first + step]
        picks = generator.integers(0, tasks, (len(some), tasks))
        some[:] = hits[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    return drawn


def _pass_at(outcomes: Sequence[Outcome]) -> dict[str, float]:
    by_task: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.task:
            by_task[outcome.task].append(is_right(outcome))
    most = max((len(values) for values in by_task.values()), default=0)
    found = {}
    for k in (1, 2, 4, 5, 8, 10, 16, 32, 64, 100):
        values = [pass_at_k(len(some), sum(some), k) for some in by_task.values() if len(some) >= k]
        if k <= most and values:
            found[str(k)] = sum(values) / len(values)
    return found
