"""Tasks in half precision: what they are called, and that a sum kept in half is told from one in float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader import execution, sandbox
from grader.errors import UsageError
from grader.execution.gradients import gradients
from grader.ingest import extract
from grader.judge.compare import equal_values
from grader.judge.inputs import numpy_dtype
from grader.records import Sample
from grader.tasks import builtin_tasks, choose, from_reference, task_named
from grader.tasks.precision import in_precision

from .transcripts import answers


def test_a_task_is_called_by_its_precision() -> None:
    task = task_named("softmax-bf16", None)
    assert {item.dtype for work in task.workloads for item in work.inputs} == {"bfloat16"}
    assert not task.weak
    bag = task_named("embedding-bag-fp16", None).workloads[0].inputs
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
    rows = execution.audit(task_named(name, None), sandbox.strongest(), sandbox.Limits())
    assert not execution.weaknesses(rows)


@pytest.mark.parametrize(("name", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_a_sum_in_half_is_told_from_one_in_float32(name: str, dtype: torch.dtype) -> None:
    task = task_named(f"matmul-{name}", None)
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


PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super(Model, self).__init__()
        self.linear = nn.Linear(n, n)
    def forward(self, x, places):
        return self.linear(x)[places]

def get_inputs():
    return [torch.rand(8, 16), torch.arange(4)]

def get_init_inputs():
    return [16]
"""


def test_a_problem_is_cast_with_its_weights_and_inputs() -> None:
    draft = from_reference(PROBLEM)
    assert draft is not None
    task = execution.describe(in_precision(draft, "bf16"), sandbox.strongest(), sandbox.Limits())
    assert [item.dtype for item in task.workloads[0].inputs] == ["bfloat16", "int64"]
    known = execution.reference(task, task.workloads[:1], 3, sandbox.strongest(), sandbox.Limits())
    name = task.workloads[0].name
    assert {array.dtype.name for array in known.states[name].values()} == {"bfloat16"}
    assert known.expected[name].native[0].dtype.name == "bfloat16"
    assert known.precision == "bfloat16"
    (needs,) = gradients(
        task, task.workloads[0], known, [(0, 0)], sandbox.strongest(), sandbox.Limits()
    )
    shapes = {name: array.shape for name, array in needs.gradients.items()}
    given = task.workloads[0].inputs[0].shape
    assert shapes == {"input 1": given, "linear.bias": (16,), "linear.weight": (16, 16)}


@pytest.mark.parametrize("how", ["the option", "inference"])
def test_the_type_that_is_asked_for_holds_however_the_task_is_found(how: str) -> None:
    text = next(made.text for made in answers() if made.task == "softmax")
    sample = Sample(id="x", origin="x", format="transcript", text=text)
    named_so = "softmax" if how == "the option" else None
    found = choose(sample, extract(sample), task=named_so, tasks_dir=None, dtype="fp16")
    assert found.task is not None
    assert found.task.name == "softmax-fp16"


def test_a_type_that_nobody_asks_for_is_refused() -> None:
    sample = Sample(id="x", origin="x", format="transcript", text="")
    with pytest.raises(UsageError, match="fp16"):
        choose(sample, extract(sample), task="histogram", tasks_dir=None, dtype="fp16")
