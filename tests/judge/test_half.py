"""Results in half precision: sums in float32 pass in every order, sums in half don't, nor does a factor of 1%."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge import Expected, References, compare
from grader.judge.compare import equal_values
from grader.records import Task, TensorSpec, Workload
from tests.judge.test_compare import Output, Outputs, codes

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
Array = np.ndarray
Sum = Callable[[Array], Array]
"""Products (terms by results) to results."""


def blocked(products: Array) -> Array:
    cut = range(0, len(products), 32)
    return np.add.reduce([products[at : at + 32].sum(0, dtype=np.float32) for at in cut])


def by_halves(products: Array) -> Array:
    while len(products) > 1:
        half = (len(products) + 1) // 2
        rest = np.zeros((2 * half, products.shape[1]), products.dtype)
        rest[: len(products)] = products
        products = rest[:half] + rest[half:]
    return products[0]


ORDERS: dict[str, Sum] = {
    "running": lambda products: np.cumsum(products, 0, dtype=np.float32)[-1],
    "backwards": lambda products: np.cumsum(products[::-1], 0, dtype=np.float32)[-1],
    "blocked": blocked,
    "by halves": by_halves,
}


def asked(exact: Array, terms: int, native: Array) -> tuple[Task, Workload, References]:
    work = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=exact.shape),))
    task = Task(
        name="t", title="t", source="builtin", reference="", workloads=(work,), reduction_length=str(terms)
    )  # fmt: skip
    known = References("t", 0, {"w": Expected("w", (exact,), (native,))}, {"w": {}}, {"w": ()})
    return task, work, known


def judged(made: Array, exact: Array, terms: int, native: Array) -> bool:
    return equal_values(*asked(exact, terms, native), (made,))


def factors(dtype: str, terms: int, results: int, seed: int, kind: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    draw = {
        "normal": rng.standard_normal,
        "positive": rng.random,
        "heavy": lambda s: rng.standard_t(2.5, s),
    }
    a, b = (draw[kind]((terms, results)).astype(HALVES[dtype]) for _ in range(2))
    return a, b


CASES = {
    "dtype": st.sampled_from(sorted(HALVES)),
    "terms": st.sampled_from([1, 7, 64, 300, 1024]),
    "results": st.sampled_from([1, 5, 100, 1000]),
    "seed": st.integers(0, 2**32),
    "kind": st.sampled_from(["normal", "positive", "heavy"]),
}


@settings(max_examples=150, deadline=None)
@given(order=st.sampled_from(sorted(ORDERS)), cut_off=st.booleans(), **CASES)
def test_sums_in_float32_pass_in_every_order(order, cut_off, dtype, terms, results, seed, kind):
    a, b = factors(dtype, terms, results, seed, kind)
    exact = (a.astype(np.float64) * b.astype(np.float64)).sum(0)
    made = ORDERS[order](a.astype(np.float32) * b.astype(np.float32))
    if cut_off and dtype == "bfloat16":  # the upper half of the bits, as many a program takes it
        made = (made.view(np.uint32) & 0xFFFF0000).view(np.float32)
    native = exact.astype(HALVES[dtype])
    assert judged(made.astype(HALVES[dtype]), exact, terms, native)


@settings(max_examples=60, deadline=None)
@given(dtype=st.sampled_from(sorted(HALVES)), seed=st.integers(0, 2**32), rows=st.integers(2, 40))
def test_steps_that_hand_on_half_precision_pass(dtype, seed, rows):
    """A softmax whose weights are rounded before they weigh, and a factor that is kept in half precision."""
    half, rng = HALVES[dtype], np.random.default_rng(seed)
    score, value = rng.standard_normal((rows, 64)), rng.standard_normal((64, 32)).astype(half)
    score = score.astype(half)
    weight = np.exp(score.astype(np.float64))
    exact = 0.1 * (weight / weight.sum(1, keepdims=True)) @ value.astype(np.float64)
    made = np.exp(score.astype(np.float32))
    total = made.sum(1, keepdims=True)
    made = made.astype(half).astype(np.float32) @ value.astype(np.float32) / total
    made = made.astype(half).astype(np.float32) * np.float32(half.type(0.1))
    assert judged(made.astype(half), exact, 64, exact.astype(half))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("terms", [64, 256, 1024])
def test_a_running_sum_in_half_precision_fails(dtype, terms):
    a, b = factors(dtype, terms, 4000, 3, "normal")
    exact = (a.astype(np.float64) * b.astype(np.float64)).sum(0)
    made = np.zeros(4000, HALVES[dtype])
    for one, other in zip(a, b, strict=True):
        made = (made + one * other).astype(HALVES[dtype])
    assert not judged(made, exact, terms, exact.astype(HALVES[dtype]))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("factor", "told"), [(1.0, True), (2.0, False)])
def test_what_a_sum_in_half_precision_leaves_is_told_from_another_formula(dtype, factor, told):
    a, b = factors(dtype, 256, 4000, 3, "normal")
    exact = (a.astype(np.float64) * b.astype(np.float64)).sum(0)
    made = np.zeros(4000, HALVES[dtype])
    for one, other in zip(a, b, strict=True):
        made = (made + one * other).astype(HALVES[dtype])
    given = Outputs((Output((made * factor).astype(HALVES[dtype])),))
    found = compare(*asked(exact, 256, exact.astype(HALVES[dtype])), given)
    assert ("half-sums" in codes(found)) is told
    assert not found.half_precision


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("factor", [1.01, 0.99])
def test_a_constant_multiple_fails(dtype, factor):
    exact = np.random.default_rng(0).standard_normal(300).astype(HALVES[dtype]).astype(np.float64)
    native = exact.astype(HALVES[dtype])
    assert judged(native, exact, 1, native)
    assert not judged((exact * factor).astype(HALVES[dtype]), exact, 1, native)
