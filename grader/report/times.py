"""The timings of a review that are compared with each other."""

from __future__ import annotations

import math
from typing import NamedTuple

from grader.records import Evaluation, Review, Timing


class Point(NamedTuple):
    """One sample's median times on one workload, in milliseconds."""

    sample: str
    floor: float
    submission: float
    eager: float | None


def usable(evaluation: Evaluation) -> list[Timing]:
    """Return the timings of the first timed workload that are numbers above zero."""
    made = [t for t in evaluation.timings if math.isfinite(t.median) and t.median > 0]
    return [t for t in made if t.workload == made[0].workload]


def point(review: Review) -> Point | None:
    """Return the sample's times, where both the program and its floor were measured."""
    medians = {timing.what: timing.median for timing in usable(review.evaluation)}
    if not {"floor", "submission"} <= medians.keys():
        return None
    times = (medians["floor"], medians["submission"], medians.get("eager"))
    return Point(review.sample, *times)
