"""No text costs more than linear time: long texts of every shape of benchmarks/text_cost.py, at twice the size."""

from __future__ import annotations

import pytest

from benchmarks.text_cost import SHAPES, measure

HALF = 10_000
FREE = 1.0
"""Seconds of CPU within which growth doesn't matter."""


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_costs_little_more_than_twice(shape: str) -> None:
    half, whole = (sum(measure(SHAPES[shape](size))) for size in (HALF, 2 * HALF))
    assert whole < FREE or whole < 4 * half, (half, whole)
