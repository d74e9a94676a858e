"""The simulator says what elements were made of: exactly those that the kernel read for them."""

from __future__ import annotations

import numpy as np
import pytest

from grader.devices import Device, Tracer
from grader.execution.reference import reference
from grader.records import Submission, Task, TensorSpec, Workload
from grader.simulator.provenance import Told, told
from grader.source import parse

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
CODE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void row_sums(const float* x, float* parts, int n) {
    __shared__ float s[4];
    float v = 0.0f;
    for (int i = threadIdx.x; i < n - 1; i += blockDim.x) v += x[blockIdx.x * n + i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) parts[blockIdx.x] = s[0] + s[1] + s[2];
}
__global__ void scaled(const float* parts, float* y, int rows) {
    if (threadIdx.x < rows) atomicAdd(&y[threadIdx.x], parts[threadIdx.x] * 0.5f);
}
torch::Tensor run(torch::Tensor x) {
    auto parts = torch::empty({x.size(0)}, x.options());
    auto y = torch::zeros({x.size(0)}, x.options());
    row_sums<<<x.size(0), 128>>>(x.data_ptr<float>(), parts.data_ptr<float>(), x.size(1));
    scaled<<<1, 32>>>(parts.data_ptr<float>(), y.data_ptr<float>(), x.size(0));
    return y;
}
"""
ext = load_inline("sums", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])
class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
'''
REFERENCE = """
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=1) * 0.5
"""
COLUMNS = 300
WORKLOAD = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(3, COLUMNS)),))
TASK = Task(
    name="sums", title="sums of rows", source="file", reference=REFERENCE, workloads=(WORKLOAD,)
)


@pytest.fixture(scope="module")
def seen(device: Device) -> Told:
    submission: Submission = a_submission(CODE)
    form, limits = device.form, device.limits(120)  # type: ignore[attr-defined]
    known = reference(TASK, TASK.workloads, 7, form, limits)
    assert isinstance(device, Tracer)
    build = device.build(submission, ())
    traced = device.trace(submission, build, TASK, known, WORKLOAD, [(0, 1)])
    found = told(traced.report, parse(CODE))
    assert found is not None
    return found


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(CODE.splitlines(), 1) if text in line)


def test_an_element_came_from_its_row_through_shuffles_shared_memory_and_two_kernels(
    seen: Told,
) -> None:
    (origin,) = seen.origins
    assert origin is not None
    assert not seen.unfollowed
    (x,) = (tensor for tensor in seen.tensors if tensor.role == "input 1")
    (reads,) = origin.reads
    assert reads.access.place is not None
    assert reads.access.place.line == line_of("v += x[")
    # Warp 3 is left out of the sum, and the last column of the loop.
    columns = np.arange(COLUMNS - 1)
    wanted = COLUMNS + columns[columns % 128 < 96]
    assert seen.elements_of(reads, x).tolist() == wanted.tolist()


def test_what_ends_in_shared_memory_says_where_the_others_go_on(seen: Told) -> None:
    ends = {(one.place.line, one.goes_on.line) for one in seen.lost if one.place and one.goes_on}
    assert ends == {(line_of("= v;"), line_of("s[0] + s[1]"))}
    assert {one.threads[0] for one in seen.lost} == {96}


def test_lines_touch_boxes(seen: Told) -> None:
    boxes = {
        (seen.tensors[at].role, access.what): count
        for access in seen.accesses
        for at, (count, _) in access.boxes.items()
    }
    assert boxes == {("input 1", "load"): 3 * (COLUMNS - 1), ("output 1", "atomic"): 3}


def test_values_on_the_way_are_those_that_were_computed(seen: Told) -> None:
    (origin,) = seen.origins
    assert origin is not None
    last = origin.computed[-1]
    assert last.place.line == line_of("0.5f")
    assert (line_of("0.5f"), 0.5) in {(used, value) for _, used, value in origin.constants}
