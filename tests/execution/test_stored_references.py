"""Reference outputs in the store: what is read is what was written, or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from grader.execution import stored_references as module
from grader.execution.stored_references import array_bytes, store_references, stored_references
from grader.judge.expected import Expected, References
from grader.judge.inputs import make_inputs, numpy_dtype
from grader.store import Store
from grader.tasks import builtin_tasks

SEED = 5
TASK = next(task for task in builtin_tasks().values() if task.name == "softmax")
SHAPES = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = st.sampled_from(["float32", "float64", "float16", "int64", "bool"]).flatmap(
    lambda name: arrays(np.dtype(name), SHAPES)
)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
    )


def made(*outputs: np.ndarray, shared: bool = False) -> References:
    expected = {
        workload.name: Expected(
            workload.name,
            outputs,
            outputs if shared else tuple(np.array(a) for a in outputs),
            "tuple",
            changes=frozenset({0}),
        )
        for workload in TASK.judged
    }
    state = {"weight": np.arange(6.0).reshape(2, 3).astype(numpy_dtype("bfloat16"))}
    states = {workload.name: state for workload in TASK.judged}
    inputs = {workload.name: make_inputs(TASK, workload, SEED) for workload in TASK.judged}
    return References(TASK.name, SEED, expected, states, inputs, {})


@settings(deadline=None, max_examples=25)
@given(st.lists(ARRAYS, max_size=3), st.booleans())
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, outputs: list[np.ndarray], shared: bool
) -> None:
    store, wrote = Store(tmp_path_factory.mktemp("store")), made(*outputs, shared=shared)
    store_references(store, "abc", wrote)
    read = stored_references(store, "abc", TASK, SEED)
    assert read is not None
    assert (read.task, read.seed) == (wrote.task, wrote.seed)
    assert array_bytes(read) == array_bytes(wrote)
    for name, one in wrote.expected.items():
        other = read.expected[name]
        assert (other.structure, other.changes, other.returns, other.failure) == (
            "tuple",
            one.changes,
            one.returns,
            "",
        )
        for left, right in ((one.exact, other.exact), (one.native, other.native)):
            assert len(left) == len(right)
            assert all(map(same, left, right))
        assert all(same(a, read.states[name][key]) for key, a in wrote.states[name].items())
    for name, arguments in wrote.inputs.items():
        pairs = zip(arguments, read.inputs[name], strict=True)
        assert all(same(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def test_damage_is_seen(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store_references(store, "abc", made(np.ones(100)))
    folder = store.folder("references", "abc")
    assert folder is not None
    data = bytearray((folder / "arrays").read_bytes())
    data[7] ^= 1
    (folder / "arrays").write_bytes(data)
    assert stored_references(store, "abc", TASK, SEED) is None


def test_what_is_large_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 100)
    store = Store(tmp_path)
    store_references(store, "abc", made(np.ones(100)))
    assert stored_references(store, "abc", TASK, SEED) is None
