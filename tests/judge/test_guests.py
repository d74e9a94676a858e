"""Reference, description and audit, with real guests in the strongest sandbox of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from grader import execution, judge
from grader.errors import GraderError
from grader.records import Task, TensorSpec, Workload
from grader.sandbox import Limits, strongest
from grader.tasks import builtin_tasks
from grader.tasks.problem import from_reference

LIMITS = Limits(wall=60.0)


@pytest.fixture(scope="module")
def form():
    return strongest()


def deciding(task):
    return tuple(w for w in task.workloads if w.role != "full")


def test_reference_of_a_built_in_task(form):
    task = builtin_tasks()["batch-norm"]
    found = execution.reference(task, deciding(task), 7, form, LIMITS)
    for workload in deciding(task):
        expected = found.expected[workload.name]
        assert expected.exact[0].dtype == np.float64
        assert expected.native[0].dtype == np.float32
        assert np.allclose(expected.exact[0], expected.native[0], rtol=1e-3, atol=1e-3)
        assert "bn.weight" in found.states[workload.name]
    drawn = next(w for w in deciding(task) if w.weights == "drawn")
    initial = next(w for w in deciding(task) if w.weights == "initial")
    assert (found.states[initial.name]["bn.weight"] == 1).all()
    assert (found.states[drawn.name]["bn.weight"] != 1).all()
    again = execution.reference(task, deciding(task), 7, form, LIMITS)
    other = execution.reference(task, deciding(task), 8, form, LIMITS)
    name = drawn.name
    assert np.array_equal(found.expected[name].native[0], again.expected[name].native[0])
    assert not np.array_equal(found.expected[name].native[0], other.expected[name].native[0])


def problem_of(forward: str, inputs: str, constants: str = "batch_size = 4096\ndim = 4095") -> str:
    return f"""
import torch
import torch.nn as nn

{constants}

class Model(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.args = args

    def forward(self, *given):
        {forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def described(text: str, form) -> Task:
    draft = from_reference(text)
    assert draft is not None
    return execution.describe(draft, form, LIMITS)


def test_a_problem_is_described_without_its_full_size(form):
    text = problem_of(
        "return given[0] / given[0].norm(dim=1, keepdim=True)", "torch.rand(batch_size, dim)"
    )
    task = described(text, form)
    shapes = {w.role: w.inputs[0].shape for w in reversed(task.workloads)}
    assert shapes["full"] == (4096, 4095)
    assert shapes["nominal"][1] % 2 == 1
    assert np.prod(shapes["nominal"]) <= 200_000
    assert {w.inputs[0].distribution for w in task.workloads} >= {"uniform", "normal"}
    assert not task.weak
    found = execution.reference(task, deciding(task), 1, form, LIMITS)
    assert not any(expected.failure for expected in found.expected.values())


def test_a_dimension_that_no_block_holds_stays_so(form):
    text = problem_of("return given[0].sum(dim=1)", "torch.rand(batch_size, 2048, dim)")
    nominal = [w.inputs[0].shape for w in described(text, form).workloads if w.role == "nominal"]
    assert any(shape[1] > 1024 for shape in nominal)
    assert any(shape[2] > 1024 for shape in nominal)
    assert all(np.prod(shape) <= 200_000 for shape in nominal)


def test_kinds_of_inputs_are_kept(form):
    text = problem_of(
        "return torch.nn.functional.cross_entropy(given[0], given[1]) + given[2].tril().sum()",
        "torch.rand(batch_size, dim).cuda(), torch.randint(0, dim, (batch_size,), device='cuda'), "
        "torch.tril(torch.rand(512, 512)), torch.rand(batch_size) > 0.5, 0.25",
    )
    task = described(text, form)
    logits, labels, lower, mask, number = task.workloads[0].inputs
    assert logits.distribution == "uniform"
    assert (labels.dtype, labels.distribution, labels.low) == ("int64", "randint", 0)
    assert labels.high <= logits.shape[1]
    assert lower.structure == "lower"
    assert mask.dtype == "bool"
    assert number == 0.25


def test_inputs_lie_in_memory_as_the_problem_hands_them_over(form):
    text = problem_of(
        "return given[0] @ given[1] + given[2].sum()",
        "torch.rand(8, batch_size, dim), torch.rand(8, 64, dim).transpose(1, 2), "
        "torch.rand(4, 6, 5, 7).to(memory_format=torch.channels_last)",
    )
    orders = {tuple(spec.order for spec in work.inputs) for work in described(text, form).workloads}
    assert orders == {((), (0, 2, 1), (0, 2, 3, 1))}


def test_sizes_that_belong_together_stay_together(form):
    text = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, in_channels, out_channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.norm = nn.GroupNorm(groups, out_channels)
    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))
batch_size, in_channels, out_channels, groups = 128, 64, 128, 8
height, width = 256, 256
def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]
def get_init_inputs():
    return [in_channels, out_channels, groups]
"""
    task = described(text, form)
    assert {w.role for w in task.workloads} == {"nominal", "stress", "general", "full"}
    found = execution.reference(task, deciding(task), 1, form, LIMITS)
    assert not any(expected.failure for expected in found.expected.values())


@pytest.mark.parametrize(
    "text",
    [
        problem_of("return 1 / 0", "torch.rand(batch_size, dim)"),
        problem_of("return given[0]", "torch.rand(dim) for _ in 3"),
        problem_of("return given[0]", "object()"),
        "import os\nos._exit(3)\nclass Model: pass\ndef get_inputs(): pass",
        "class Model: pass\ndef get_inputs():\n    while True: pass",
        "raise SystemExit\nclass Model: pass\ndef get_inputs(): pass",
    ],
)
def test_a_problem_that_is_broken_says_so(text, form):
    draft = from_reference(text)
    task = execution.describe(draft, form, Limits(wall=2.0) if "while True" in text else LIMITS)
    assert not task.workloads
    assert task.notes


@pytest.mark.parametrize(
    ("forward", "full", "role"),
    [
        ("return torch.argmax(given[0], dim=1)", 70_000, "stress"),
        ("return torch.argmax(given[0], dim=1)", 300, "general"),
        ("return given[0].amax(dim=1)", 70_000, None),
    ],
)
def test_equal_extremes_decide_where_the_full_size_has_them(forward, full, role, form):
    """Of 8192 x 70000 uniform floats, some row's largest comes twice by chance."""
    sizes = f"batch_size = 8192\ndim = {full}"
    task = described(problem_of(forward, "torch.rand(batch_size, dim)", sizes), form)
    found = [workload for workload in task.workloads if "ties" in workload.name]
    assert [workload.role for workload in found] == ([role] if role else [])
    assert all(workload.inputs[0].distribution == "randint" for workload in found)


def test_a_broken_reference_counts_for_nothing(form):
    workload = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(3,)),))
    text = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): raise ValueError(x)"
    )
    task = Task(name="t", title="t", source="file", reference=text, workloads=(workload,))
    found = execution.reference(task, (workload,), 1, form, LIMITS)
    assert "ValueError" in found.expected["w"].failure
    assert not judge.compare(task, workload, found, None).decides
    with pytest.raises(GraderError):
        execution.reference(
            task.model_copy(update={"source": "builtin"}), (workload,), 1, form, LIMITS
        )


@pytest.mark.parametrize("name", ["l2-norm", "mse-loss", "argmax-dim"])
def test_audit_of_built_in_tasks(name, form):
    rows = execution.audit(builtin_tasks()[name], form, LIMITS)
    assert {row.program for row in rows} >= {"zeros", "a constant", "a skipped part"}
    assert not execution.weaknesses(rows)


def test_audit_tells_a_weak_task(form):
    text = problem_of(
        "return given[0].max(dim=1, keepdim=True)[0] * 0", "torch.rand(batch_size, dim)"
    )
    task = described(text, form)
    assert any("zeros" in reason for reason in task.weak)
    assert any("other inputs" in reason for reason in task.weak)


def test_half_precision_is_no_weakness_of_a_task_that_is_in_it(form):
    text = problem_of(
        "return given[0] * given[1]",
        "torch.rand(batch_size, dim, dtype=torch.float16),"
        "torch.rand(batch_size, dim, dtype=torch.float16)",
    )
    assert not described(text, form).weak


def test_inputs_that_fit_together_still_do_at_every_size(form):
    text = problem_of(
        "return torch.clamp(1 - given[0] * given[1], min=0).mean(dim=0)",
        "torch.rand(batch_size, *shape), torch.rand(batch_size)",
        "batch_size = 8192\nshape = (8192,)",
    )
    task = described(text, form)
    assert len([w for w in task.workloads if w.role != "full"]) >= 3
    for workload in task.workloads:
        first, second = (spec.shape for spec in workload.inputs)
        assert first[-1] == second[0]


def test_a_costly_problem_gets_the_cheapest_sizes_and_more_than_one_in_a_batch(form):
    text = problem_of(
        "return torch.nn.functional.conv_transpose3d(given[0], given[1])",
        "torch.rand(batch_size, 32, depth, height, width), torch.rand(32, 24, 7, 7, 7)",
        "batch_size = 16\ndepth = 16\nheight = 32\nwidth = 64",
    )
    sizes = [w.inputs[0].shape for w in described(text, form).workloads if w.role == "nominal"]
    assert sizes == [(2, 32, 4, 6, 8)]


def test_each_long_row_is_tried_at_its_full_length(form):
    text = problem_of(
        "return given[0].amin(dim=1)",
        "torch.rand(batch_size, dim1, dim2)",
        "batch_size = 128\ndim1 = 4096\ndim2 = 4095",
    )
    task = described(text, form)
    shapes = [w.inputs[0].shape for w in task.workloads if w.role == "nominal"]
    assert {shape[1] for shape in shapes} >= {4096}
    assert {shape[2] for shape in shapes} >= {4095}
    assert all(np.prod(shape) <= 200_000 for shape in shapes)


def test_what_decides_stays_in_the_range_that_the_problem_draws(form):
    text = problem_of("return given[0].exp().sum(dim=1)", "torch.rand(batch_size, dim)")
    task = described(text, form)
    for workload in task.workloads:
        (values,) = judge.make_inputs(task, workload, 1) if workload.role != "full" else ([],)
        if workload.role == "stress":
            assert np.abs(values).max() < 8
    assert any("heavy tails" in w.name for w in task.workloads if w.role == "general")


def test_more_than_one_in_a_batch_where_that_costs_little_more(form):
    text = problem_of(
        "return torch.nn.functional.conv_transpose3d(given[0], given[1])",
        "torch.rand(batch_size, 48, depth, depth, depth), torch.rand(48, 48, 3, 3, 3)",
        "batch_size = 8\ndepth = 64",
    )
    nominal = described(text, form).workloads[0].inputs[0]
    assert nominal.shape == (2, 48, 4, 4, 4)


def test_a_reference_that_is_slow_to_construct_is_constructed_once_for_all_batches(form):
    text = problem_of(
        "return given[0].sum(dim=1)", "torch.rand(batch_size, 300)", "batch_size = 64"
    ).replace(
        "self.args = args",
        """import time
        if torch.ones(1).is_meta:
            return
        assert Model.made == 0, "constructed again"
        Model.made = 1
        end = time.process_time() + 0.32
        while time.process_time() < end:
            pass
    made = 0
""",
    )
    nominal = described(text, form).workloads[0]
    assert nominal.inputs[0].shape == (64, 300)


def test_weights_that_are_too_many_are_not_made(form):
    text = problem_of(
        "return given[0] * self.weight.sum()",
        "torch.rand(batch_size, dim)",
        "batch_size = 64\ndim = 32768",
    ).replace("self.args = args", "self.weight = nn.Parameter(torch.ones(args[0], args[0]))")
    text = text.replace(
        "def get_init_inputs():\n    return []", "def get_init_inputs():\n    return [dim]"
    )
    nominal = described(text, form).workloads[0]
    assert 32 < nominal.init[0] < 4096
