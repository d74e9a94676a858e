"""What is said of a median and of a ratio of two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.devices.cuda.timing_series import BETWEEN, Series, interval, narrow, ratio

SECONDS = st.lists(st.floats(1e-6, 1.0), min_size=7, max_size=40)


def series(*seconds: float) -> Series:
    return Series("one", list(seconds))


def test_equal_times_have_the_interval_of_processes_alone() -> None:
    middle, low, high = ratio(series(*[1e-3] * 8), series(*[2e-3] * 8))
    assert (middle, low, high) == pytest.approx((2.0, 2.0 * (1 - BETWEEN), 2.0 * (1 + BETWEEN)))


def test_a_series_is_narrow_under_two_percent() -> None:
    assert narrow([series(*[1.0, 1.001] * 10)])
    assert not narrow([series(*[1.0, 1.1] * 10)])


@given(SECONDS, st.floats(1e-6, 1.0))
def test_the_interval_holds_the_median_and_is_never_under_its_rounds(
    seconds: list[float], other: float
) -> None:
    theirs = series(*[other] * len(seconds))
    middle, low, high = ratio(series(*seconds), theirs)
    least, most = interval(other / np.array(seconds))
    assert low <= least <= middle <= most <= high


@given(SECONDS, SECONDS, st.floats(0.1, 10.0))
def test_a_slower_clock_changes_no_ratio(
    ours: list[float], theirs: list[float], factor: float
) -> None:
    size = min(len(ours), len(theirs))
    plain = ratio(series(*ours[:size]), series(*theirs[:size]))
    slowed = ratio(
        series(*(factor * t for t in ours[:size])), series(*(factor * t for t in theirs[:size]))
    )
    assert slowed == pytest.approx(plain, rel=1e-9)
