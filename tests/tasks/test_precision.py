"""Tasks in half precision: what they are called, and that a sum kept in half is told from one in float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader import execution, sandbox
from grader.judge.compare import equal_values
from grader.judge.inputs import numpy_dtype
from grader.tasks import builtin_tasks, named
from grader.tasks.precision import in_precision


def test_a_task_is_called_by_its_precision() -> None:
    task = named("softmax-bf16", None)
    assert {item.dtype for work in task.workloads for item in work.inputs} == {"bfloat16"}
    assert not task.weak
    bag = named("embedding-bag-fp16", None).workloads[0].inputs
    assert [item.dtype for item in bag] == ["int64", "float16", "float16"]


@pytest.mark.parametrize(
    "name",
    [
        "selective-scan",
        "histogram",
        "topk-gating",
        "mse-loss",
        "matmul-w8a8",
        "quantise-int8",
        "prod-dim",
    ],
)
def test_what_nobody_asks_in_half_has_no_such_form(name: str) -> None:
    assert in_precision(builtin_tasks()[name], "fp16") is None


@pytest.mark.parametrize("name", ["causal-attention-fp16", "sum-dim-bf16", "avg-pool-3d-bf16"])
def test_trivial_answers_in_half_fail(name: str) -> None:
    rows = execution.audit(named(name, None), sandbox.strongest(), sandbox.Limits())
    assert not execution.weaknesses(rows)


@pytest.mark.parametrize(("name", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_a_sum_in_half_is_told_from_one_in_float32(name: str, dtype: torch.dtype) -> None:
    task = named(f"matmul-{name}", None)
    works = [w for w in task.workloads if w.role == "nominal"]
    known = execution.reference(task, works, 7, sandbox.strongest(), sandbox.Limits())
    kinds: dict[str, list[bool]] = {"float32": [], "half": []}
    for work in works:
        a, b = (torch.from_numpy(x.astype(np.float32)) for x in known.inputs[work.name])
        running = torch.zeros(len(a), b.shape[1], dtype=dtype)
        for k in range(a.shape[1]):
            running += (a[:, k, None] * b[None, k]).to(dtype)
        for kind, made in (("float32", (a @ b).to(dtype)), ("half", running)):
            array = made.float().numpy().astype(numpy_dtype(str(dtype).removeprefix("torch.")))
            kinds[kind].append(equal_values(task, work, known, (array,)))
    assert all(kinds["float32"])
    assert not all(kinds["half"])
