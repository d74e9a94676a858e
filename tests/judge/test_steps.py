"""Results of few bits may be one step off where rounding decides, if few are."""

import ml_dtypes
import numpy as np

from grader.judge.steps import rounded_the_other_way
from grader.records import Tolerance

EXACT = np.array([1.0, 1.125, 1.25, 2.0], ml_dtypes.float8_e4m3fn)
BOUND = Tolerance(relative=0.0, absolute=0.0, one_off=0.3, why="8 bits")


def test_one_of_four_may_be_a_step_off_and_all_of_them_may_not() -> None:
    one_off = EXACT.copy()
    one_off[1] = EXACT[2]
    excused = rounded_the_other_way(one_off, EXACT, EXACT, BOUND)
    assert excused.tolist() == [False, True, False, False]
    assert not rounded_the_other_way(EXACT[::-1].copy(), EXACT, EXACT, BOUND).any()


def test_wider_types_are_judged_by_their_tolerance_alone() -> None:
    exact = EXACT.astype(np.float16)
    off = np.nextafter(exact, np.float16(9))
    assert not rounded_the_other_way(off, exact, exact, BOUND).any()
