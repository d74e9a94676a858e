"""What the reference gives, in float64 and in the task's own type."""

from __future__ import annotations

import numpy as np
import pytest

from grader.execution.reference import _within_range


@pytest.mark.parametrize(
    ("native", "known"),
    [
        ([1.0, np.inf, np.nan], [1.0, np.inf, np.nan]),
        ([1.0, np.inf, 3.0], [1.0, np.inf, 3.0]),
    ],
)
def test_what_the_type_cannot_hold_is_what_torch_makes_of_it(native, known):
    exact = np.array([1.0, 1e43, 3.0])
    made = _within_range(exact, np.array(native, np.float32))
    np.testing.assert_array_equal(made, known)


def test_a_result_that_only_torchs_own_way_loses_is_expected_all_the_same():
    """The logarithm of a sum of exponentials, without the maximum subtracted."""
    exact = np.array([1.0, 800.0])
    assert _within_range(exact, np.array([1.0, np.inf], np.float32)) is exact
