"""The time that a sample has until its verdict: what is beyond the runs themselves is left out when it is spent."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from grader.machine import cores
from grader.records import Verdict


@dataclass(frozen=True)
class Budget:
    """Seconds of wall time, counted as on a machine that has nothing else to do."""

    seconds: float
    begun: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> bool:
        """Whether nothing is left; on a machine with twice the load that it can carry, half of the time counts."""
        return (time.monotonic() - self.begun) * _own_share() > self.seconds


def _own_share() -> float:
    return min(1.0, cores() / max(os.getloadavg()[0], 1e-3))


def with_left_out(verdict: Verdict, seconds: float, left_out: tuple[str, ...]) -> Verdict:
    """Return the verdict with the looks that there was no time for among its reasons."""
    if not left_out:
        return verdict
    text = f"Left out, as the {seconds:g} seconds of a sample were spent: {', '.join(left_out)}."
    return verdict.model_copy(update={"reasons": (*verdict.reasons, text)})
