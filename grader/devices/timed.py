"""The result of timing a program, on any device with a clock."""

from __future__ import annotations

from dataclasses import dataclass

from grader.records import Comparison, KernelProfile, Run, Timing, Work


@dataclass(frozen=True)
class Timed:
    """What timing a program gave."""

    timings: tuple[Timing, ...] = ()
    run: Run | None = None
    """The run at the timed size, where it failed or its result is wrong."""
    comparison: Comparison | None = None
    """The mismatch there, found before timing."""
    note: str = ""
    """Why there is no time, for a right program."""
    dishonest: tuple[str, ...] = ()
    speedup: tuple[float, float, float] | None = None
    """Over eager torch: median, and the ends of its 95% interval."""
    work: Work | None = None
    profile: tuple[KernelProfile, ...] = ()
