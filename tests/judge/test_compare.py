"""Equal or not, element by element, and the patterns that say how it is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge import Expected, References, compare, tolerance
from grader.judge.patterns import OUTSIDE, _layout
from grader.judge.wrong import Wrong
from grader.records import Comparison, Task, TensorSpec, Workload


@dataclass(frozen=True)
class Output:
    array: np.ndarray
    device: str = "cuda:0"
    dtype: str = ""


@dataclass(frozen=True)
class Outputs:
    outputs: tuple[Output, ...]
    structure: str = "tensor"


def task_of(shape: tuple[int, ...], length: str = "1") -> Task:
    workload = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=shape),))
    return Task(
        name="t",
        title="t",
        source="builtin",
        reference="",
        workloads=(workload,),
        reduction_length=length,
    )


def judged(actual: np.ndarray, exact: np.ndarray, *, inputs=(), length="1", **more) -> Comparison:
    task = task_of(exact.shape, length)
    native = exact.astype(np.float32) if exact.dtype == np.float64 else exact
    references = References(
        "t", 0, {"w": Expected("w", (exact,), (native,))}, {"w": {}}, {"w": tuple(inputs)}
    )
    if not isinstance(actual, Outputs):
        actual = Outputs((Output(np.asarray(actual), **more),))
    return compare(task, task.workloads[0], references, actual)


def codes(comparison: Comparison) -> set[str]:
    assert comparison.mismatch is not None
    return {pattern.code for pattern in comparison.mismatch.patterns}


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


SHAPES = st.lists(st.integers(1, 9), min_size=0, max_size=4).map(tuple)


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 2**32), share=st.floats(-0.9, 0.9))
def test_what_is_within_tolerance_is_equal(shape, seed, share):
    exact = normal(*shape, seed=seed) * 10.0
    bound = tolerance(task_of(shape), task_of(shape).workloads[0], "float32").relative
    actual = np.asarray(exact * (1 + share * bound)).astype(np.float32)
    assert judged(actual, exact).equal


@settings(max_examples=100, deadline=None)
@given(
    shape=SHAPES,
    seed=st.integers(0, 2**32),
    wrong=st.sampled_from([np.nan, np.inf, -np.inf, 3e38, 0.0, "scaled"]),
    data=st.data(),
)
def test_one_element_out_of_tolerance_fails_and_is_named(shape, seed, wrong, data):
    exact = normal(*shape, seed=seed) + 3.0
    exact = np.asarray(np.abs(exact) + 0.5)
    actual = exact.astype(np.float32)
    index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    actual[index] = actual[index] * 1.01 if wrong == "scaled" else wrong
    found = judged(actual, exact)
    assert not found.equal
    assert found.mismatch.worst_index == index
    assert found.mismatch.fraction == pytest.approx(1 / actual.size)


@settings(max_examples=40, deadline=None)
@given(bits=st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12))
def test_hostile_bits_never_raise_and_never_pass_for_another_number(bits):
    exact = normal(3, 4)
    actual = np.array(bits, np.uint32).view(np.float32).reshape(3, 4)
    with np.errstate(all="ignore"):
        near = np.allclose(actual.astype(np.float64), exact, rtol=1e-3, atol=1e-3)
    found = judged(actual, exact)
    assert found.equal <= near
    if found.mismatch:
        assert found.model_dump_json()


def test_form_comes_before_values():
    exact = normal(4, 6)
    right = exact.astype(np.float32)
    assert judged(right.T.copy(), exact).mismatch.kind == "shape"
    assert judged(right.reshape(4, 6, 1), exact).mismatch.kind == "shape"
    assert judged(exact, exact).mismatch.kind == "dtype"
    assert judged(right, exact, device="cpu").mismatch.kind == "device"
    two = Outputs((Output(right), Output(right)), "tuple")
    assert judged(two, exact).mismatch.kind == "count"
    wrapped = Outputs((Output(right),), "tuple")
    assert judged(wrapped, exact).mismatch.kind == "type"


def test_nan_and_infinity_equal_only_themselves_and_do_not_count():
    exact = normal(3, 4)
    exact[1:] = np.nan
    exact[2, 0] = np.inf
    same = judged(exact.astype(np.float32), exact)
    assert same.equal
    assert not same.decides
    zeros = exact.astype(np.float32)
    zeros[1] = 0
    assert not judged(zeros, exact).equal


def test_where_few_elements_are_no_numbers_the_others_decide():
    exact = normal(3, 4)
    exact[1] = np.nan  # the mean over nothing
    right = exact.astype(np.float32)
    assert (judged(right, exact).equal, judged(right, exact).decides) == (True, True)
    filled = np.where(np.isnan(right), 0, right)
    assert (judged(filled, exact).equal, judged(filled, exact).decides) == (False, False)
    wrong = filled.copy()
    wrong[0, 3] += 1
    found = judged(wrong, exact)
    assert (found.equal, found.decides, found.mismatch.worst_index) == (False, True, (0, 3))


def test_integers_are_exact():
    exact = np.arange(12).reshape(3, 4)
    assert judged(exact.copy(), exact).equal
    wrong = exact.copy()
    wrong[2, 3] += 1
    assert judged(wrong, exact).mismatch.worst_index == (2, 3)


def test_a_result_as_far_off_as_torch_own_is_accepted_and_said():
    exact = normal(100)
    native = (exact * (1 + 1e-3)).astype(np.float32)
    task = task_of((100,))
    references = References("t", 0, {"w": Expected("w", (exact,), (native,))}, {"w": {}}, {"w": ()})
    found = compare(task, task.workloads[0], references, Outputs((Output(native),)))
    assert found.equal
    assert "torch's own" in found.note


def test_what_torch_own_error_grants_stays_far_from_a_factor():
    """Layer upon layer, torch's own float32 result is off by 6e-4: 32 times that would let 1.01 pass."""
    exact = normal(64, 33)
    native, near, times = (
        (exact * factor).astype(np.float32) for factor in (1 + 6e-4, 1 + 3e-3, 1.01)
    )
    task = task_of((64, 33))
    references = References("t", 0, {"w": Expected("w", (exact,), (native,))}, {"w": {}}, {"w": ()})
    found = [
        compare(task, task.workloads[0], references, Outputs((Output(a),))) for a in (near, times)
    ]
    assert [one.equal for one in found] == [True, False]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), flushed=st.booleans(), wrong=st.booleans())
def test_what_underflows_says_nothing_of_the_rest(seed, flushed, wrong):
    """As in a product of many numbers: most results are too small for float32, some are not."""
    rng = np.random.default_rng(seed)
    exact = rng.choice([-1.0, 1.0], 500) * 10.0 ** rng.uniform(-80, -30, 500)
    exact[0] = 1e-32
    actual = exact.astype(np.float32)
    if flushed:
        actual[np.abs(actual) < 2.0**-126] = 0
    else:
        actual[np.abs(exact) < 1e-60] = 1.4e-45
    actual[0] *= 1.01 if wrong else 1
    assert judged(actual, exact).equal != wrong


def test_what_overflows_in_torch_as_well_is_right():
    exact = np.array([1e39, -1e39, 1.0, 2.0])
    with np.errstate(over="ignore"):
        actual = exact.astype(np.float32)
        assert judged(actual, exact).equal
        actual[0] = 3e38
        assert not judged(actual, exact).equal


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (np.zeros_like, "zeros"),
        (lambda a: -a, "sign-flip"),
        (lambda a: a * 16, "constant-factor"),
        (lambda a: a * np.float32(0.5), "constant-factor"),
        (lambda a: a + np.float32(0.25), "constant-offset"),
        (lambda a: np.full_like(a, np.nan), "unwritten"),
        (lambda a: np.full_like(a, np.uint32(OUTSIDE & 0xFFFFFFFF).view(np.float32)), "outside"),
        (lambda a: np.full_like(a, -np.inf), "infinite"),
        (lambda a: np.full_like(a, 0.123), "constant-value"),
        (lambda a: a.astype(np.float16).astype(np.float32), "half-precision"),
        (lambda a: np.ascontiguousarray(a.T), "transposed"),
        (lambda a: np.roll(a, 1, axis=0), "shifted"),
        (lambda a: np.roll(a, -1, axis=1), "shifted"),
        (lambda a: a * np.linspace(1.5, 3, 96, dtype=np.float32)[:, None], "row-factor"),
        (lambda a: a * np.linspace(1.5, 3, 96, dtype=np.float32)[None, :], "row-factor"),
    ],
)
def test_patterns_of_values(change, code):
    exact = normal(96, 96)
    assert code in codes(judged(change(exact.astype(np.float32)), exact))


@pytest.mark.parametrize(
    ("step", "text"), [(2.0**-11, "of the size"), (8e-5, "4 digits are right")]
)
def test_few_digits_are_counted_where_half_precision_has_fewer(step, text):
    exact = normal(96, 96) + 8
    actual = exact * (1 + step * np.sin(np.arange(exact.size)).reshape(exact.shape))
    said = [p.text for p in judged(actual.astype(np.float32), exact).mismatch.patterns]
    assert any(one.endswith(text) for one in said)


@pytest.mark.parametrize(("size", "told"), [(8e-5, True), (4e-3, False)])
def test_an_approximation_from_below_is_right_to_its_digits(size, told):
    exact = np.abs(normal(96, 96)) + 8
    low = exact * (1 - size * np.abs(np.sin(np.arange(exact.size))).reshape(exact.shape))
    found = judged(low.astype(np.float32), exact)
    assert not found.equal
    assert ("half-precision" in codes(found)) is told


def test_errors_that_are_small_everywhere_are_no_factor_of_a_row():
    exact = normal(96, 96) + 8
    error = 1e-4 * np.sin(np.arange(exact.size)).reshape(exact.shape)
    found = judged((exact * (1 + error)).astype(np.float32), exact)
    assert "row-factor" not in codes(found)
    rows = 1 + 0.01 * np.linspace(1, 2, 96)[:, None]
    assert "row-factor" in codes(judged((exact * rows).astype(np.float32), exact))


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (np.float32(16), "; for the rest, the wrong are 16 times"),
        (
            np.linspace(1.5, 3, 96, dtype=np.float32)[:, None],
            "; for the rest, each row has its own constant factor, from 1.5 to 3",
        ),
        (
            np.linspace(2, 2.00001, 96, dtype=np.float32)[:, None],
            "; for the rest, the wrong are 2",
        ),
    ],
)
def test_a_factor_is_no_factor_of_what_is_not_a_number(factor, text):
    exact = normal(96, 96)
    actual = exact.astype(np.float32) * factor
    actual[5, 7] = np.nan
    said = next(p.text for p in judged(actual, exact).mismatch.patterns if "factor" in p.code)
    assert said.startswith("0.0109% of the wrong are NaN or infinite")
    assert text in said


def damaged(exact: np.ndarray, *where) -> np.ndarray:
    actual = exact.astype(np.float32)
    actual[where] = normal(*actual[where].shape, seed=7) * 3 + 9
    return actual


@pytest.mark.parametrize(
    ("where", "code", "text"),
    [
        ((slice(32, None), slice(None)), "from-index-on", "rows from 32 on"),
        ((slice(None), slice(256, None)), "from-index-on", "columns from 256 on"),
        ((slice(None), slice(0, 17)), "up-to-index", "first 17 of 300 columns"),
        ((slice(None), slice(None, None, 8)), "periodic", "every 8th"),
        ((slice(None), slice(0, 1)), "up-to-index", "the first of the 300 columns is wrong"),
        ((slice(3, None, 4), slice(None)), "periodic", "index % 4 == 3"),
        ((slice(5, 6), slice(None)), "few", "(5)"),
    ],
)
def test_patterns_of_place(where, code, text):
    exact = normal(96, 300)
    found = judged(damaged(exact, *where), exact)
    assert code in codes(found)
    assert text in found.mismatch.text or any(text in p.text for p in found.mismatch.patterns)


def test_a_tail_in_flat_order():
    exact = normal(7, 33)
    actual = exact.astype(np.float32)
    actual.reshape(-1)[128:] = np.nan
    found = judged(actual, exact)
    assert "flat-tail" in codes(found)
    assert found.mismatch.kind == "unwritten"
    actual.reshape(-1)[1:] = np.nan
    assert "flat-tail" not in codes(judged(actual, exact)), "that is all but one"


def test_borders_of_a_picture():
    exact = normal(2, 3, 16, 16)
    actual = exact.astype(np.float32) + 5
    actual[:, :, 1:-1, 1:-1] = exact[:, :, 1:-1, 1:-1]
    assert codes(judged(actual, exact)) >= {"constant-offset"}
    actual = exact.astype(np.float32)
    actual[:, :, 0] = actual[:, :, -1] = 7
    assert "borders" in codes(judged(actual, exact))


def test_the_input_handed_back():
    given = normal(8, 64).astype(np.float32)
    exact = given.astype(np.float64) / 3
    assert "input-returned" in codes(judged(given, exact, inputs=(given,)))


def test_a_factor_is_named_by_the_length_that_it_is():
    exact = normal(4, 2560)
    found = judged((exact / 2560).astype(np.float32), exact)
    assert "1/2560" in found.mismatch.text
    found = judged(
        (exact * 2560).astype(np.float32), exact, inputs=(normal(4, 2560).astype(np.float32),)
    )
    assert "(the size of dim 1 of input 1)" in found.mismatch.text
    found = judged((exact * 16).astype(np.float32), exact)
    assert "sqrt(256)" in found.mismatch.text


def test_half_precision_is_a_level_of_its_own():
    exact = normal(64, 64)
    half = judged(exact.astype(np.float16).astype(np.float32), exact)
    assert half.half_precision
    assert not half.equal
    scaled = judged((exact * 1.004).astype(np.float32), exact)
    assert not scaled.half_precision


def test_kernelbench_verdict_stands_beside():
    exact = normal(64, 64) * 1e-6
    zeros = judged(np.zeros((64, 64), np.float32), exact)
    assert not zeros.equal
    assert zeros.kernelbench_equal
    exact = normal(64, 64)
    assert judged(exact.astype(np.float32), exact).kernelbench_equal
    assert not judged((exact * 1.01).astype(np.float32), exact).kernelbench_equal


def test_a_large_output_is_compared_in_parts():
    exact = normal(9, 2**19).astype(np.float32)
    actual = exact.copy()
    assert judged(actual, exact).equal
    actual[8, 100] += 1
    found = judged(actual, exact)
    assert found.mismatch.worst_index == (8, 100)


def test_one_number_of_the_other_sign() -> None:
    assert "sign-flip" in codes(judged(np.float32([-3.5]), np.array([3.5])))
    assert "sign-flip" not in codes(judged(np.float32([-3.0]), np.array([3.5])))


def test_small_values_among_results_that_span_decades_are_not_called_swapped():
    exact = np.array([[1e-3, 2e-3, 3e-3], [5e-3, 1.0, 2.0], [6e-3, 2.0, 1e12]])
    actual, mask = np.full_like(exact, 7e2), exact > 0.5
    wrong = Wrong(actual=actual, exact=exact, mask=mask, scale=1e12)
    assert _layout(wrong) is None
    swapped = np.array([[1.0, 2.0], [3.0, 4.0]])
    seen = _layout(Wrong(swapped.T, swapped, np.array([[False, True], [True, False]]), 4.0))
    assert seen is not None
    assert seen.code == "transposed"
