"""Every built-in task runs, tells wrong programs from right ones, and keeps to its sizes."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import torch

from grader.judge import tolerance
from grader.judge.tolerance import reduction_length
from grader.records import TensorSpec
from grader.tasks import builtin_tasks, entries

from .programs import SEED, BuildWorkspace, bench

torch.set_num_threads(1)
TASKS = sorted(builtin_tasks())


def deciding(task):
    return [w for w in task.workloads if w.role in {"nominal", "stress"}]


def wrong_programs(b: BuildWorkspace):
    """Yield what cheats return: each must be told from the reference, in one result alone as well."""
    other = bench(b.task, b.workload, SEED + 1)
    for place, native in enumerate(b.natives):
        for label, array in wrong_results(native, other.exacts[place], b.inputs):
            yield label, (*b.natives[:place], array, *b.natives[place + 1 :])
    yield "a skipped part", b.run([skipped(a) for a in b.inputs], False)
    yield "every tenth skipped", b.run([tenth_skipped(a) for a in b.inputs], False)


def wrong_results(native, other, inputs):
    yield "zeros", np.zeros_like(native)
    if native.dtype.kind in "fV" and native.dtype.itemsize > 1:
        yield "a constant", np.full_like(native, other.mean())
        yield (
            "a constant multiple",
            native * np.float32(1.001 if native.dtype.itemsize > 2 else 1.01),
        )
    if native.dtype.kind == "f" and native.dtype.itemsize > 2:
        with np.errstate(over="ignore"):
            yield "half precision", native.astype(np.float16).astype(np.float32)
    if native.dtype.kind in "biu" or native.dtype.itemsize == 1:
        yield "off by one", native + 1
    for number, array in enumerate(inputs):
        if isinstance(array, np.ndarray) and array.shape == native.shape:
            yield f"input {number}", array.astype(native.dtype)


def skipped(array):
    """The second half along the last dim as if it were not there (a copy of the first)."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiuV":
        return array
    made = array.copy()
    n = array.shape[-1] // 2
    if n:
        made[..., -n:] = array[..., :n]
    elif array.ndim > 1:
        m = array.shape[0] // 2
        made[-m:] = array[:m]
    return made


def tenth_skipped(array):
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiuV":
        return array
    made = array.copy()
    made.reshape(-1)[::10] = 0
    return made


@pytest.mark.parametrize("name", TASKS)
def test_wrong_programs_fail_and_the_reference_passes(name):
    task = builtin_tasks()[name]
    passed: dict[str, int] = {}
    nominal_passed = set()
    tried = 0
    for workload in deciding(task):
        b = bench(task, workload)
        if workload.reference_may_be_nonfinite:
            assert not b.judge(b.natives).decides
            continue
        own = b.judge(b.natives)
        assert own.equal
        assert own.decides
        assert own.kernelbench_equal
        tried += 1
        for label, arrays in wrong_programs(b):
            if b.judge(arrays).equal:
                passed[label] = passed.get(label, 0) + 1
                if workload.role == "nominal":
                    nominal_passed.add(label)
    assert all(count < tried for count in passed.values()), passed
    # One number rounds well by luck now and then; anything else must fail at nominal size at once.
    assert nominal_passed <= ({"half precision"} if not b.natives[0].shape else set()), passed


@pytest.mark.parametrize("name", TASKS)
def test_other_sizes_run_and_torch_passes_its_own_tolerance(name):
    task = builtin_tasks()[name]
    for workload in task.workloads:
        if workload.role != "general":
            continue
        b = bench(task, workload)
        assert all(np.isfinite(exact).all() for exact in b.exacts), workload.name
        assert b.judge(b.natives).equal, workload.name


@pytest.mark.parametrize("name", TASKS)
def test_sizes_are_what_a_simulator_can_run(name):
    task = builtin_tasks()[name]
    roles = {workload.role for workload in task.workloads}
    assert roles == {"nominal", "general", "stress", "full"}
    assert len({workload.name for workload in task.workloads}) == len(task.workloads)
    for workload in task.workloads:
        shapes = [item.shape for item in workload.inputs if isinstance(item, TensorSpec)]
        assert reduction_length(task, workload) >= 1
        assert tolerance(task, workload, "float32").why
        if workload.role != "full":
            assert all(prod(shape) <= 200_000 for shape in shapes), workload.name


def test_tasks_cover_level_one():
    covered = {number for entry in entries().values() for number in entry.problems}
    assert len(covered) >= 80
    numbers = [n for entry in entries().values() for n in entry.problems]
    assert len(numbers) == len(set(numbers))


def sequential_sum(array: np.ndarray) -> np.ndarray:
    """One running float32 sum along the last dim, as one thread a row computes it."""
    return np.add.accumulate(array.astype(np.float32), axis=-1, dtype=np.float32)[..., -1]


HONEST = {
    "l1-norm-mean": lambda x: x / (sequential_sum(np.abs(x)) / np.float32(x.shape[1]))[:, None],
    "l1-norm-sum": lambda x: x / sequential_sum(np.abs(x))[:, None],
    "l2-norm": lambda x: x / np.sqrt(sequential_sum(x * x))[:, None],
    "softmax": lambda x: (
        np.exp(x - x.max(1, keepdims=True))
        / sequential_sum(np.exp(x - x.max(1, keepdims=True)))[:, None]
    ),
    "rms-norm": lambda x: (
        x
        / np.sqrt(
            sequential_sum(np.moveaxis(x * x, 1, -1)) / np.float32(x.shape[1]) + np.float32(1e-5)
        )[:, None]
    ),
    "sum-dim": lambda x: sequential_sum(np.moveaxis(x, 1, -1))[:, None],
    "mse-loss": lambda a, b: sequential_sum(((a - b) ** 2).reshape(-1)) / np.float32(a.size),
    "frobenius-norm": lambda x: x / np.sqrt(sequential_sum((x * x).reshape(-1))),
    "cumsum": lambda x: np.add.accumulate(x, axis=1, dtype=np.float32),
}


@pytest.mark.parametrize("name", sorted(HONEST))
def test_an_honest_kernel_with_one_running_sum_passes(name):
    task = builtin_tasks()[name]
    for workload in deciding(task):
        if not workload.reference_may_be_nonfinite:
            b = bench(task, workload)
            found = b.judge((HONEST[name](*b.inputs),))
            assert found.equal, (workload.name, found.mismatch)
