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


@pytest.mark.parametrize("program", [norm, softmax, lambda x: x.sum(axis=1)])
def test_says_nothing_of_a_right_one(program: Program) -> None:
    assert shown(program, program) == set()


def test_survives_results_of_another_shape_and_nan() -> None:
    assert shown(norm, lambda x: x[:3]) == set()
    assert shown(norm, lambda x: x * np.nan) == set()


def test_takes_no_integers_and_nothing_large() -> None:
    assert plan(WORKLOAD, (np.arange(5),)) is None
    assert plan(WORKLOAD, (np.zeros(2**22, np.float32),)) is None
