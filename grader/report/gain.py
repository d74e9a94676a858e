"""The speed-up of a reference-fixed kernel's fast form over its plain form, where a GPU measured both."""

from __future__ import annotations

from grader.records import Evaluation, Review


def gain(review: Review) -> str:
    """Return words with both medians and their ratio; empty where they weren't both measured."""
    if review.reference is None or review.reference_fast is None:
        return ""
    plain, fast = (_medians(one.evaluation) for one in (review.reference, review.reference_fast))
    shared = next((name for name in plain if name in fast and fast[name] > 0), None)
    if shared is None:
        return ""
    times = f"{fast[shared]:.3g} ms a call instead of {plain[shared]:.3g} ms"
    return f"{plain[shared] / fast[shared]:.1f} times as fast: {times}, measured on {shared}"


def _medians(evaluation: Evaluation) -> dict[str, float]:
    """Return the median milliseconds of a call by workload."""
    return {
        timing.workload: timing.median
        for timing in evaluation.timings
        if timing.what == "submission"
    }
