"""Wrong kernels that a badly reduced size took for right ones."""

from __future__ import annotations

import pytest

from grader import execution, pipeline
from grader.config import Options
from grader.execution.audit import audit
from grader.pipeline import review as stages
from grader.pipeline.context import describe_draft
from grader.records import Sample, TensorSpec
from grader.sandbox import Limits, strongest
from grader.store import Store
from grader.tasks.problem import from_reference

GROUPED = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x):
        return self.norm(self.linear(x))

batch_size = 1024
features = 2048
num_groups = 256

def get_inputs():
    return [torch.rand(batch_size, features)]

def get_init_inputs():
    return [features, num_groups]
"""
TRANSPOSED = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return torch.relu(self.conv(x))

batch_size = 16
in_channels = 32
out_channels = 64
depth, height, width = 16, 32, 32
kernel_size = 5

def get_inputs():
    return [torch.randn(batch_size, in_channels, depth, height, width)]

def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
"""


def task_of(text: str, kept: frozenset[int] = frozenset()):
    draft = from_reference(text)
    assert draft is not None
    return execution.describe(draft, strongest(), Limits(wall=120.0), kept)


@pytest.mark.parametrize("kept", [frozenset(), frozenset({256})])
def test_channels_stay_several_times_as_many_as_groups(kept: frozenset[int]) -> None:
    """With one channel a group the result is the bias, whatever the input: zeros passed."""
    task = task_of(GROUPED, kept)
    assert not task.weak
    for workload in task.workloads:
        features, groups = workload.init
        assert features % groups == 0
        assert features >= 2 * groups


def test_channels_that_differ_go_on_to() -> None:
    task = task_of(TRANSPOSED)
    for workload in task.workloads:
        assert workload.init[0] < workload.init[1]
        shape = next(item.shape for item in workload.inputs if isinstance(item, TensorSpec))
        assert shape[2] < shape[3] == shape[4]


def test_every_wrong_program_fails_at_each_nominal_size() -> None:
    task = task_of(GROUPED, frozenset({256}))
    nominal = tuple(w for w in task.workloads if w.role == "nominal")
    rows = audit(task, strongest(), Limits(wall=120.0), workloads=nominal)
    kinds = {row.kind for row in rows if row.fails}
    assert kinds >= {"another weight", "a parameter left out", "a permuted part", "zeros"}
    assert not [row.program for row in rows if row.passes]


ANSWER = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
#define GROUPS 256
// one thread a group: its values less their mean
__global__ void centre(const float* x, float* y, int features) {
    int size = features / GROUPS;
    const float* own = x + blockIdx.x * features + threadIdx.x * size;
    float* out = y + blockIdx.x * features + threadIdx.x * size;
    float mean = 0.0f, square = 0.0f;
    for (int i = 0; i < size; ++i) mean += own[i];
    mean /= size;
    for (int i = 0; i < size; ++i) square += (own[i] - mean) * (own[i] - mean);
    float scale = SCALE;
    for (int i = 0; i < size; ++i) out[i] = (own[i] - mean) * scale;
}
torch::Tensor centre_groups(torch::Tensor x) {
    auto y = torch::empty_like(x);
    centre<<<x.size(0), GROUPS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
ext = load_inline(name="grouped", cpp_sources="torch::Tensor centre_groups(torch::Tensor x);",
                  cuda_sources=source, functions=["centre_groups"])

class ModelNew(nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return ext.centre_groups(self.linear(x))
'''
"""Right with 256 groups alone, where SCALE is what a norm divides by."""


def test_a_group_norm_without_its_division_is_wrong_where_the_number_of_groups_is_written(tmp_path):
    """At 256 channels in 256 groups, to which the size was reduced before, both gave zeros."""
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path), Store(tmp_path), 7)
    verdicts = []
    for scale in ("rsqrtf(square / size + 1e-5f)", "2.0f"):
        code = ANSWER.replace("SCALE", scale)
        sample = Sample(id="s", origin="s", format="jsonl", text=code, prompt=GROUPED)
        verdicts.append(stages.assess(grading, sample).evaluation.verdict.status)
    assert verdicts == ["correct", "incorrect"]


SPREAD = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return ((x - x.mean(dim=(1, 2), keepdim=True)) ** 2).sum(dim=(1, 2))
batch_size = 512
rows = 64
columns = 256
def get_inputs():
    return [torch.randn(batch_size, rows, columns)]
def get_init_inputs():
    return []
"""
UNMASKED = """
import torch
import torch.nn as nn
import triton
import triton.language as tl
@triton.jit
def spread(x, y, n, BLOCK: tl.constexpr):
    at = x + tl.program_id(0) * n
    total = 0.0
    for start in range(0, n, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(at + lanes, mask=lanes < n, other=0.0), axis=0)
    mean, square = total / n, 0.0
    for start in range(0, n, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        apart = tl.load(at + lanes, mask=lanes < n, other=0.0) - mean
        square += tl.sum(apart * apart, axis=0)
    tl.store(y + tl.program_id(0), square)
class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        spread[(x.shape[0],)](x, y, x[0].numel(), BLOCK=8192)
        return y
"""
"""Lanes past the end take part in the sum of squares: there are none where 8192 divides the length, as it does 64 x 256."""


def test_an_answer_that_needs_whole_tiles_is_right_at_a_size_that_has_them(tmp_path) -> None:
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path), Store(tmp_path), 7)
    sample = Sample(id="s", origin="s", format="jsonl", text=UNMASKED, prompt=SPREAD)
    verdict = stages.assess(grading, sample).evaluation.verdict
    assert (verdict.status, verdict.general) == ("correct", False)


def test_what_a_problem_is_judged_on_is_asked_once(tmp_path, monkeypatch) -> None:
    store = Store(tmp_path)
    grading = pipeline.open_context(Options(device="none", cache=tmp_path), store, 7)
    draft = from_reference(GROUPED)
    first = describe_draft(grading, draft)
    monkeypatch.setattr(execution, "describe", lambda *_: pytest.fail("asked again"))
    again = pipeline.open_context(Options(device="none", cache=tmp_path), Store(tmp_path), 8)
    assert describe_draft(again, draft) == first
    assert first.workloads
