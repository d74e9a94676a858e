"""Scores against their definitions."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compare import mcnemar
from grader.stats import pass_at_k


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
)
def test_pass_at_k_is_the_share_of_draws_with_a_pass(case: tuple[int, int, int]) -> None:
    n, right, k = case
    draws = list(itertools.combinations(range(n), k))
    passing = sum(any(item < right for item in draw) for draw in draws)
    assert pass_at_k(n, right, k) == pytest.approx(passing / len(draws))


def test_pass_at_k_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="pass@3"):
        pass_at_k(2, 1, 3)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_a_symmetric_probability(won: int, lost: int) -> None:
    assert 0.0 < mcnemar(won, lost) <= 1.0
    assert mcnemar(won, lost) == mcnemar(lost, won)


def test_mcnemar_of_a_known_case() -> None:
    assert mcnemar(10, 2) == pytest.approx(0.0385742, abs=1e-6)
