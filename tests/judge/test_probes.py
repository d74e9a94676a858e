"""Probes tell the causes of a wrong result apart: each program here is wrong in one way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader.judge.inputs import Array
from grader.judge.probes import explain, plan
from grader.records import Workload

Program = Callable[[Array], Array]
X = np.random.default_rng(7).normal(0.3, 1.0, (6, 40)).astype(np.float32)
WORKLOAD = Workload(name="6x40", role="nominal", inputs=())


def norm(x: Array) -> Array:
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def shown(reference: Program, program: Program) -> set[str]:
    planned = plan(WORKLOAD, (X,))
    assert planned is not None
    exact = {
        name: (reference(args[0].astype(np.float64)),) for name, args in planned.inputs.items()
    }
    actual = {name: (program(args[0]),) for name, args in planned.inputs.items()}
    return {item.code for item in explain(planned, exact, actual, "6x40")}


@pytest.mark.parametrize(
    ("reference", "program", "code"),
    [
        (norm, lambda x: x / (x * x).sum(axis=1, keepdims=True), "probe-degree"),
        (lambda x: x.sum(axis=1), lambda x: x[:, :-1].sum(axis=1), "probe-ignored"),
        (lambda x: x.T * 2, lambda x: (x * 2).reshape(40, 6), "probe-moved"),
        (lambda x: x.mean(axis=1), lambda x: x.sum(axis=1), "probe-weight"),
        (softmax, np.exp, "probe-shift"),
        (lambda x: x + 1, lambda x: x - x.mean(), "probe-no-shift"),
    ],
)
def test_names_the_cause(reference: Program, program: Program, code: str) -> None:
    assert code in shown(reference, program)


def test_what_is_little_of_a_large_result_is_not_called_nothing() -> None:
    """A sum of many values moves by less than float32 tells, and moves all the same: what a sum of few shows is in its place."""
    x = np.random.default_rng(7).uniform(0.5, 1.0, (2, 40_000)).astype(np.float32)
    planned = plan(WORKLOAD, (x,))
    assert planned is not None

    def running(x: Array) -> Array:
        return np.cumsum(x, axis=1)

    def pieces(x: Array) -> Array:
        return np.cumsum(x.reshape(2, -1, 1000), axis=2).reshape(x.shape)

    runs = {name: np.asarray(args[0], np.float64) for name, args in planned.inputs.items()}
    exact = {name: (running(x),) for name, x in runs.items()}
    found = explain(planned, exact, {name: (pieces(x),) for name, x in runs.items()}, "w")
    assert [item.text for item in found if item.code == "probe-moved"] == []


@pytest.mark.parametrize("program", [norm, softmax, lambda x: x.sum(axis=1)])
def test_says_nothing_of_a_right_one(program: Program) -> None:
    assert shown(program, program) == set()


class Keeping:
    """Adds what the last call came to, as a recurrent layer that holds its state does."""

    def __init__(self) -> None:
        self.last: Array | float = 0.0

    def __call__(self, x: Array) -> Array:
        self.last = np.tanh(x + self.last)
        return self.last


def test_a_state_that_one_side_keeps_is_all_that_is_said() -> None:
    assert shown(Keeping(), np.tanh) == {"probe-kept"}
    assert shown(np.tanh, Keeping()) == {"probe-unsteady"}


def test_a_state_that_both_keep_is_no_cause() -> None:
    negated = Keeping()
    assert shown(Keeping(), lambda x: -negated(x)) == set()


def test_survives_results_of_another_shape_and_nan() -> None:
    assert shown(norm, lambda x: x[:3]) == set()
    assert shown(norm, lambda x: x * np.nan) == set()


def test_takes_no_integers_and_nothing_large() -> None:
    assert plan(WORKLOAD, (np.arange(5),)) is None
    assert plan(WORKLOAD, (np.zeros(2**22, np.float32),)) is None
