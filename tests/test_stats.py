"""Scores against their definitions."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compare import mcnemar
from grader.stats import RESAMPLES, pass_at_k, share


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


def test_mcnemar_of_thousands() -> None:
    assert mcnemar(900, 900) == 1.0
    assert 0.0 < mcnemar(1000, 850) < 0.001


class Sample(NamedTuple):
    sample: str
    task: str | None
    status: str
    compiled: bool | None = True
    speedup: float | None = None


@pytest.mark.parametrize("tasks", [1, 7, 100, 300])
def test_an_interval_does_not_depend_on_how_much_is_drawn_at_a_time(tasks: int) -> None:
    samples = [
        Sample(f"s{n}", f"t{n % tasks}", "correct" if n % 3 else "hung") for n in range(3 * tasks)
    ]
    interval = share(samples, lambda sample: sample.status == "correct")
    right = [[s.status == "correct" for s in samples[task::tasks]] for task in range(tasks)]
    picks = np.random.default_rng(0).integers(0, tasks, (RESAMPLES, tasks))
    drawn = np.array([sum(values) for values in right], dtype=float)[picks].sum(axis=1) / 3 / tasks
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))


def test_a_share_of_no_known_task_resamples_samples() -> None:
    interval = share([Sample(f"s{n}", None, "hung") for n in range(5)], lambda _: False)
    assert interval is not None
    assert (interval.value, interval.n) == (0.0, 5)
