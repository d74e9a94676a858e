"""Inputs depend on the seed, the task, the workload and the argument, and on nothing else."""

from __future__ import annotations

import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge import make_inputs
from grader.judge.inputs import draw_state
from grader.records import Distribution, DType, Task, TensorSpec, Workload

DISTRIBUTIONS = typing.get_args(Distribution)
DTYPES = typing.get_args(DType)


def task_of(*specs: TensorSpec) -> tuple[Task, Workload]:
    workload = Workload(name="w", role="nominal", inputs=specs)
    task = Task(name="t", title="t", source="builtin", reference="", workloads=(workload,))
    return task, workload


SPECS = st.builds(
    TensorSpec,
    shape=st.lists(st.integers(0, 6), max_size=4).map(tuple),
    dtype=st.sampled_from(DTYPES),
    distribution=st.sampled_from(DISTRIBUTIONS),
    low=st.integers(-3, 0).map(float),
    high=st.integers(1, 4).map(float),
)


@settings(max_examples=150, deadline=None)
@given(spec=SPECS, turned=st.booleans(), seed=st.integers(0, 2**64 - 1))
def test_same_seed_same_bytes_in_the_form_asked_for(spec, turned, seed):
    if spec.dtype == "uint8" and spec.low < 0:
        spec = spec.model_copy(update={"low": 0.0})
    turned = turned and len(spec.shape) > 1
    if turned:
        spec = spec.model_copy(update={"order": (*range(1, len(spec.shape)), 0)})
    task, workload = task_of(spec)
    with np.errstate(invalid="ignore"):
        (first,) = make_inputs(task, workload, seed)
        (again,) = make_inputs(task, workload, seed)
    assert first.tobytes() == again.tobytes()
    assert first.shape == spec.shape
    assert str(first.dtype) == spec.dtype
    assert first.transpose(spec.order or range(first.ndim)).flags["C_CONTIGUOUS"]


def test_seed_workload_and_argument_each_change_the_values():
    task, workload = task_of(TensorSpec(shape=(64,)), TensorSpec(shape=(64,)))
    a, b = make_inputs(task, workload, 1)
    c, _ = make_inputs(task, workload, 2)
    d, _ = make_inputs(task, workload.model_copy(update={"name": "v"}), 1)
    values = [a, b, c, d]
    assert len({v.tobytes() for v in values}) == 4


def test_plain_values_pass_through():
    task, workload = task_of(TensorSpec(shape=(2,)), 3.5, "mean", None)
    assert make_inputs(task, workload, 0)[1:] == (3.5, "mean", None)


@pytest.mark.parametrize(
    ("structure", "holds"),
    [
        ("upper", lambda a: np.array_equal(a, np.triu(a))),
        ("lower", lambda a: np.array_equal(a, np.tril(a))),
        ("symmetric", lambda a: np.array_equal(a, a.T)),
        ("simplex", lambda a: np.allclose(a.sum(-1), 1) and (a > 0).all()),
    ],
)
def test_structures_hold(structure, holds):
    task, workload = task_of(TensorSpec(shape=(31, 31), structure=structure))
    assert holds(make_inputs(task, workload, 5)[0])


def test_signs_only():
    spec = TensorSpec(shape=(1000,), distribution="signed_uniform", low=1.0, high=1.0)
    task, workload = task_of(spec)
    assert set(np.unique(make_inputs(task, workload, 5)[0])) == {-1.0, 1.0}


@pytest.mark.parametrize(
    "mask",
    [
        np.tril(np.ones((5, 5), np.float32)),
        np.triu(np.full((4, 4), -np.inf, np.float32), 1),
        np.array([0.0, 1.0], np.float64),
    ],
)
def test_a_mask_is_nothing_to_draw(mask):
    drawn = draw_state({"bias": mask, "weight": np.ones(3, np.float32)}, 3)
    assert np.array_equal(drawn["bias"], mask)
    assert not np.array_equal(drawn["weight"], np.ones(3, np.float32))


def test_drawn_weights_leave_no_default_behind():
    state = {
        "bn.weight": np.ones(64, np.float32),
        "bn.bias": np.zeros(64, np.float32),
        "bn.running_mean": np.zeros(64, np.float32),
        "bn.running_var": np.ones(64, np.float32),
        "bn.num_batches_tracked": np.array(0),
        "conv.weight": np.random.default_rng(0).normal(0, 0.02, (8, 4)).astype(np.float32),
    }
    drawn = draw_state(state, 3)
    assert (drawn["bn.running_var"] > 0).all()
    assert (drawn["bn.weight"] != 1).all()
    assert (drawn["bn.bias"] != 0).all()
    assert drawn["bn.num_batches_tracked"] == 0
    assert drawn["conv.weight"].std() == pytest.approx(0.02, rel=0.5)
    assert not np.array_equal(drawn["conv.weight"], state["conv.weight"])
    again = draw_state(state, 3)
    assert all(np.array_equal(drawn[name], again[name]) for name in state)


@given(low=st.floats(-5, 5), width=st.floats(0.5, 5), seed=st.integers(0, 99))
def test_skewed_values_stay_in_their_range_and_a_few_carry_most(low, width, seed):
    task, workload = task_of(
        TensorSpec(shape=(4096,), distribution="skewed", low=low, high=low + width)
    )
    (values,) = make_inputs(task, workload, seed)
    assert low - 1e-5 <= values.min() <= values.max() <= low + width + 1e-5
    base = 0.0 if low < 0.0 < low + width else low
    sizes = np.sort(np.abs(values - base))
    assert sizes[-410:].sum() > sizes.sum() / 2


SERIES = [
    ("range", [3, 4, 5, 6]),
    ("ascending", [3, 9]),
    ("increasing", [3, 9]),
    ("permutation", [3, 4, 5, 6]),
]


@pytest.mark.parametrize(("name", "ends"), SERIES)
def test_integers_that_are_no_independent_numbers(name, ends):
    spec = TensorSpec(shape=(5, 4), dtype="int64", distribution=name, low=3, high=10)
    (rows,) = make_inputs(*task_of(spec), 1)
    for row in rows:
        assert name == "permutation" or (np.diff(row) >= int(name != "ascending")).all()
        assert sorted(row) == ends if len(ends) == 4 else [row[0], row[-1]] == ends


@pytest.mark.parametrize("place", ["anywhere", "tail", "strictly-upper"])
def test_a_filler_stands_where_it_did(place):
    spec = TensorSpec(shape=(40, 40), low=1, high=0, filler=-np.inf, share=0.25, place=place)
    (rows,) = make_inputs(*task_of(spec), 1)
    marked = np.isneginf(rows)
    wanted = {
        "anywhere": 0.15 < marked.mean() < 0.35,
        "tail": bool((np.diff(marked, axis=-1).sum(-1) == 1).all() and not marked[:, 0].any()),
        "strictly-upper": np.array_equal(marked, np.triu(np.ones((40, 40)), 1)),
    }
    assert wanted[place]


def test_equal_values_of_a_coarse_grid_are_drawn_again():
    spec = TensorSpec(shape=(50,), distribution="uniform", low=0, high=2, step=0.25)
    (values,) = make_inputs(*task_of(spec), 1)
    assert 3 < np.unique(values).size <= 9
    assert np.array_equal(values * 4, np.rint(values * 4))
