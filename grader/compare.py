"""Comparison of two runs on the same samples: the changes, and whether they could be chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

from grader.records import Record, Review, Verdict

Change = Literal["newly right", "newly wrong", "faster", "slower", "same", "not judged"]
_UNJUDGED = frozenset({"grader_error", "not_run"})
"""Statuses that are neither right nor wrong, since the sample is not at fault."""


class Moved(Record):
    """One sample in both runs."""

    sample: str
    before: str
    after: str
    change: Change
    ratio: float | None = None
    """Speed-up after over speed-up before."""
    why: str = ""
    """The later verdict in a sentence."""


class RuleMoved(Record):
    """Numbers of paired samples on which a rule has an error or a warning."""

    rule: str
    name: str
    before: int
    after: int


class Compared(Record):
    """Two runs, paired by sample."""

    pairs: tuple[Moved, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    rules: tuple[RuleMoved, ...] = ()
    """Rules whose count changed, the largest change first."""
    p_value: float
    """Exact McNemar test (two-sided) on right and wrong: the probability of such a difference by chance."""

    def count(self, change: Change) -> int:
        """Return the number of samples that changed in this way."""
        return sum(pair.change == change for pair in self.pairs)


class _Held(NamedTuple):
    """The few fields kept of one review, so that two runs of thousands fit in memory."""

    verdict: Verdict
    rules: frozenset[tuple[str, str]]


def compare(before: Iterable[Review], after: Iterable[Review]) -> Compared:
    """Pair the runs by sample id."""
    old, new = _held_by_sample(before), _held_by_sample(after)
    both = sorted(old.keys() & new.keys())
    pairs = tuple(_moved_verdict(name, old[name].verdict, new[name].verdict) for name in both)
    won = sum(pair.change == "newly right" for pair in pairs)
    lost = sum(pair.change == "newly wrong" for pair in pairs)
    return Compared(
        pairs=pairs,
        only_before=tuple(sorted(old.keys() - new.keys())),
        only_after=tuple(sorted(new.keys() - old.keys())),
        rules=_rules([old[name] for name in both], [new[name] for name in both]),
        p_value=mcnemar(won, lost),
    )


def _held_by_sample(reviews: Iterable[Review]) -> dict[str, _Held]:
    return {
        review.sample: _Held(
            review.verdict,
            frozenset((f.rule, f.name) for f in review.findings if f.severity != "note"),
        )
        for review in reviews
    }


def _rules(before: Iterable[_Held], after: Iterable[_Held]) -> tuple[RuleMoved, ...]:
    old, new = (Counter(rule for held in side for rule in held.rules) for side in (before, after))
    moved = [
        RuleMoved(rule=rule, name=name, before=old[rule, name], after=new[rule, name])
        for rule, name in sorted(old.keys() | new.keys())
        if old[rule, name] != new[rule, name]
    ]
    return tuple(sorted(moved, key=lambda item: -abs(item.after - item.before)))


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided exact p-value of `won` against `lost` discordant pairs.

    Source: McNemar, Psychometrika 12, 1947; the exact form is a sign test with p = 1/2.
    """
    n = won + lost
    tail = sum(math.comb(n, k) for k in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << n))


def _moved_verdict(sample: str, old: Verdict, new: Verdict) -> Moved:
    ratio = new.speedup / old.speedup if old.speedup and new.speedup else None
    return Moved(
        sample=sample,
        before=old.status,
        after=new.status,
        change=_change(old, new),
        ratio=ratio,
        why=new.sentence,
    )


def _change(before: Verdict, after: Verdict) -> Change:
    if {before.status, after.status} & _UNJUDGED:
        return "not judged"
    right = (before.status == "correct", after.status == "correct")
    if right == (False, True):
        return "newly right"
    if right == (True, False):
        return "newly wrong"
    if right == (True, True) and _apart(after, before):
        return "faster"
    if right == (True, True) and _apart(before, after):
        return "slower"
    return "same"


def _apart(fast: Verdict, slow: Verdict) -> bool:
    """Whether the intervals of the speed-ups don't overlap."""
    low, high = fast.speedup_low, slow.speedup_high
    return low is not None and high is not None and low > high
