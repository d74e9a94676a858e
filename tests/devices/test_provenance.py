"""The simulator says what elements were made of: exactly those that the kernel read for them."""

from __future__ import annotations

import numpy as np
import pytest

from grader.devices import Device, Tracer
from grader.execution.reference import reference
from grader.records import Submission, Task, TensorSpec, Workload
from grader.simulator.provenance import Told, read_told
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


def traced(device: Device, code: str, task: Task, asked: tuple[int, int]) -> Told:
    submission: Submission = a_submission(code)
    form, limits = device.form, device.limits(120)  # type: ignore[attr-defined]
    known = reference(task, task.workloads, 7, form, limits)
    assert isinstance(device, Tracer)
    build = device.build(submission, ())
    run = device.trace(submission, build, task, known, task.workloads[0], [asked])
    found = read_told(run.report, parse(code))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def seen(device: Device) -> Told:
    return traced(device, CODE, TASK, (0, 1))


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
    assert (line_of("0.5f"), 0.5) in {(used, value) for _, used, value, _ in origin.constants}
    assert 0.5 * last.operands[0] == pytest.approx(last.value)


PRODUCT = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
#include <mma.h>
using namespace nvcuda;
__device__ __noinline__ float doubled(float v) { return 2.0f * v; }
__global__ void product(const float* A, const float* B, float* C) {
    __shared__ half a[256], b[256];
    __shared__ float c[256];
    for (int i = threadIdx.x; i < 256; i += 32) {
        a[i] = __float2half(A[i]);
        b[i] = __float2half(B[i]);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) C[i] = doubled(c[i]);
}
torch::Tensor run(torch::Tensor A, torch::Tensor B) {
    auto C = torch::empty_like(A);
    product<<<1, 32>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>());
    return C;
}
"""
ext = load_inline("product", "torch::Tensor run(torch::Tensor A, torch::Tensor B);", source, functions=["run"])
class ModelNew(nn.Module):
    def forward(self, A, B):
        return ext.run(A, B)
'''
SQUARE = TensorSpec(shape=(16, 16))
MATRICES = Task(
    name="product",
    title="twice a product",
    source="file",
    reference="""
import torch.nn as nn
class Model(nn.Module):
    def forward(self, A, B):
        return 2 * (A @ B.t())
""",
    workloads=(Workload(name="w", role="nominal", inputs=(SQUARE, SQUARE)),),
)


def test_tensor_cores_and_calls_hand_on_what_they_take(device: Device) -> None:
    found = traced(device, PRODUCT, MATRICES, (0, 2 * 16 + 5))
    (origin,) = found.origins
    assert origin is not None
    assert not found.unfollowed
    came = {
        tensor.role: sorted(
            {int(at) // 16 for r in origin.reads for at in found.elements_of(r, tensor)}
        )
        for tensor in found.tensors
        if tensor.role.startswith("input")
    }
    row, columns = came["input 1"], came["input 2"]
    assert row == [2]
    assert columns in (
        [5],
        [4, 5],
    )  # a register holds two halves of a matrix whose layout is not laid down
    taken = {
        step.place.line for step in origin.steps if any(step.number in r.over for r in origin.reads)
    }
    assert (
        next(i for i, line in enumerate(PRODUCT.splitlines(), 1) if "doubled(c[i])" in line)
        in taken
    )
