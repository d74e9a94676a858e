"""Run against run: the same samples, what moved, and whether that could be chance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from grader.records import Record, Review

Change = Literal["newly right", "newly wrong", "faster", "slower", "same"]


class Moved(Record):
    """One sample in both runs."""

    sample: str
    before: str
    after: str
    change: Change
    ratio: float | None = None
    """Speed-up after over speed-up before."""


class Compared(Record):
    """Two runs, paired by sample."""

    pairs: tuple[Moved, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    p_value: float
    """Exact McNemar test (two-sided) on right and wrong: the chance of such a difference without a cause."""

    def count(self, change: Change) -> int:
        """Return how many samples moved that way."""
        return sum(pair.change == change for pair in self.pairs)


def compare(before: Iterable[Review], after: Iterable[Review]) -> Compared:
    """Pair the runs by sample id."""
    old = {review.sample: review for review in before}
    new = {review.sample: review for review in after}
    pairs = tuple(_moved(old[name], new[name]) for name in sorted(old.keys() & new.keys()))
    won = sum(pair.change == "newly right" for pair in pairs)
    lost = sum(pair.change == "newly wrong" for pair in pairs)
    return Compared(
        pairs=pairs,
        only_before=tuple(sorted(old.keys() - new.keys())),
        only_after=tuple(sorted(new.keys() - old.keys())),
        p_value=mcnemar(won, lost),
    )


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided exact p-value of `won` against `lost` discordant pairs.

    Source: McNemar, Psychometrika 12, 1947; the exact form is a sign test with p = 1/2.
    """
    n = won + lost
    tail = sum(math.comb(n, k) for k in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / float(1 << n))


def _moved(before: Review, after: Review) -> Moved:
    old, new = before.verdict, after.verdict
    ratio = new.speedup / old.speedup if old.speedup and new.speedup else None
    return Moved(
        sample=after.sample,
        before=old.status,
        after=new.status,
        change=_change(before, after),
        ratio=ratio,
    )


def _change(before: Review, after: Review) -> Change:
    right = (before.verdict.status == "correct", after.verdict.status == "correct")
    if right == (False, True):
        return "newly right"
    if right == (True, False):
        return "newly wrong"
    if right == (True, True) and _apart(after, before):
        return "faster"
    if right == (True, True) and _apart(before, after):
        return "slower"
    return "same"


def _apart(fast: Review, slow: Review) -> bool:
    """Whether the intervals of the speed-ups don't meet."""
    low, high = fast.verdict.speedup_low, slow.verdict.speedup_high
    return low is not None and high is not None and low > high
