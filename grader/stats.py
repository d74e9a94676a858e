"""Scores of a run: correctness, fast_p, pass@k, geometric-mean speed-up, each with its interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from grader.records import Record, Review

RESAMPLES = 2000
THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0)


class Interval(Record):
    """An estimate with its 95% bootstrap interval (percentile method, resampling tasks)."""

    value: float
    low: float
    high: float
    n: int
    """Samples that it rests on."""


class Scores(Record):
    """What a run is worth."""

    samples: int
    graded: int
    """Without those on which the grader itself failed or that the device couldn't run."""
    compiled: Interval | None
    correct: Interval | None
    fast: dict[str, Interval]
    """fast_p by p: the share of graded samples that are correct and faster than p times eager."""
    pass_at: dict[str, float]
    """pass@k by k: unbiased estimate, mean over tasks with at least k samples."""
    speedup: float | None
    """Geometric mean over the correct samples with a measured speed-up."""


def scores(reviews: Iterable[Review]) -> Scores:
    """Return the scores; a failure of the grader's own counts neither for nor against."""
    everything = list(reviews)
    graded = [item for item in everything if item.verdict.status not in {"grader_error", "not_run"}]
    measured = [item.verdict.speedup for item in graded if _right(item) and item.verdict.speedup]
    return Scores(
        samples=len(everything),
        graded=len(graded),
        compiled=share(graded, lambda item: item.verdict.compiled is True),
        correct=share(graded, _right),
        fast={
            f"{threshold:g}": interval
            for threshold in THRESHOLDS
            if measured and (interval := share(graded, partial(_faster, threshold)))
        },
        pass_at=_pass_at(graded),
        speedup=math.exp(sum(map(math.log, measured)) / len(measured)) if measured else None,
    )


def pass_at_k(n: int, right: int, k: int) -> float:
    """Return the chance that one of k samples drawn from n, of which `right` pass, passes.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021, equation 1.
    Raises ValueError unless 0 <= right <= n and 1 <= k <= n.
    """
    if not (0 <= right <= n and 1 <= k <= n):
        msg = f"pass@{k} of {right} right in {n}"
        raise ValueError(msg)
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def share(reviews: Sequence[Review], holds: Callable[[Review], bool]) -> Interval | None:
    """Return the share for which it holds, resampling whole tasks since their samples go together."""
    if not reviews:
        return None
    by_task: dict[str, list[bool]] = defaultdict(list)
    for review in reviews:
        by_task[review.task.name or review.sample].append(holds(review))
    hits = np.array([sum(values) for values in by_task.values()], dtype=float)
    sizes = np.array([len(values) for values in by_task.values()], dtype=float)
    picks = np.random.default_rng(0).integers(0, len(hits), (RESAMPLES, len(hits)))
    drawn = hits[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(
        value=float(hits.sum() / sizes.sum()), low=float(low), high=float(high), n=len(reviews)
    )


def _right(review: Review) -> bool:
    return review.verdict.status == "correct"


def _faster(threshold: float, review: Review) -> bool:
    speedup = review.verdict.speedup
    return _right(review) and (threshold == 0.0 or (speedup is not None and speedup > threshold))


def _pass_at(reviews: Sequence[Review]) -> dict[str, float]:
    by_task: dict[str, list[bool]] = defaultdict(list)
    for review in reviews:
        if review.task.name:
            by_task[review.task.name].append(_right(review))
    most = max((len(values) for values in by_task.values()), default=0)
    found = {}
    for k in (1, 2, 4, 5, 8, 10, 16, 32, 64, 100):
        values = [pass_at_k(len(some), sum(some), k) for some in by_task.values() if len(some) >= k]
        if k <= most and values:
            found[str(k)] = sum(values) / len(values)
    return found
