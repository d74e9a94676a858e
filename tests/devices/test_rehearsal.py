"""What fails only at the task's full size, which the simulator rehearses without computing it."""

from __future__ import annotations

import pytest

from grader.devices import Device
from grader.records import Build, Run, Task, TensorSpec, Workload

from .conftest import a_submission

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

CODE = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cublas_v2.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void of_rows(const float* x, float* y, int columns) {
    int i = blockIdx.y * columns + blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x * blockDim.x + threadIdx.x < columns) y[i] = x[i];
}
__global__ void striding(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = x[i];
}
__global__ void wide(const float* x, float* y, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void ahead(const float* x, float* y, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 0.0f * x[i + 2048];
}
__global__ void waits(const float* x, float* y, int* turn, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) while (atomicAdd(turn, 0) < (int)blockIdx.x) {}
    __syncthreads();
    if (i < n) y[i] = x[i];
    if (threadIdx.x == 0) atomicAdd(turn, 1);
}

torch::Tensor run(torch::Tensor x, int64_t way) {
    auto y = torch::zeros_like(x);
    int64_t n = x.numel();
    if (way == 0) {
        dim3 grid((x.size(1) + 255) / 256, x.size(0));
        of_rows<<<grid, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    } else if (way == 1) {
        striding<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    } else if (way == 2) {
        TORCH_CHECK(x.size(1) <= 4096, "only up to 4096 columns");
        wide<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    } else if (way == 3) {
        auto turn = torch::zeros({1}, x.options().dtype(torch::kInt32));
        waits<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                        turn.data_ptr<int>(), n);
    } else if (way == 6) {
        ahead<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    } else if (way == 7) {
        auto z = x.t().contiguous().t().clone();
        auto w = torch::full({x.size(0), x.size(1)}, 2.0, x.options()).to(torch::kFloat64);
        wide<<<(n + 255) / 256, 256>>>(z.data_ptr<float>(), y.data_ptr<float>(), n);
    } else {
        auto z = (x * 2.0).contiguous() + x.mean(1, true);
        auto w = torch::ones({x.size(0), x.size(1)}, x.options());
        wide<<<(n + 255) / 256, 256>>>(z.data_ptr<float>(), y.data_ptr<float>(), n);
        y = y + torch::matmul(w.t(), z).sum();
        float one = 1, zero = 0;
        auto c = torch::empty({x.size(1), x.size(1)}, x.options());
        cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_N, CUBLAS_OP_T, x.size(1),
                    x.size(1), x.size(0), &one, x.data_ptr<float>(), x.size(1), w.data_ptr<float>(),
                    x.size(1), &zero, c.data_ptr<float>(), x.size(1));
        y = y - c.sum() * 0.0f;
    }
    return y;
}
"""
module = load_inline(
    name="dry_run_of", cpp_sources="torch::Tensor run(torch::Tensor x, int64_t way);",
    cuda_sources=CUDA, functions=["run"], extra_ldflags=["-lcublas"],
)

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, 8192)

    def forward(self, x, way):
        if way == 5 and float(x.abs().mean()) == 0.0:
            raise ValueError("an empty input")
        return module.run(x, way)
'''
LARGE = (100_000, 20_000)  # 2 * 10^9 elements: 8 GB


@pytest.fixture(scope="session")
def built(device: Device) -> Build:
    build = device.build(a_submission(CODE), (8,))
    assert build.status == "built", build.log
    return build


def dry_run_of(
    device: Device, built: Build, way: int, shape: tuple[int, ...] = LARGE
) -> Run | None:
    small = Workload(
        name="small", role="nominal", inputs=(TensorSpec(shape=(4, 8)), way), init=(8,)
    )
    full = Workload(
        name="full", role="full", inputs=(TensorSpec(shape=shape), way), init=(shape[1],)
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=(small, full))
    return device.dry_run(a_submission(CODE), built, task, 0)


def test_a_grid_with_too_many_rows(device: Device, built: Build) -> None:
    run = dry_run_of(device, built, 0)
    assert run is not None
    assert (run.status, run.workload) == ("raised", "full")
    assert "100000 blocks in y; the limit is 65535" in run.reason
    assert [item.code for item in run.evidence] == ["launch-error-unseen"]


def test_an_index_that_wraps(device: Device, built: Build) -> None:
    run = dry_run_of(device, built, 1)
    assert run is not None
    assert "illegal memory access" in run.reason
    found = next(item for item in run.evidence if item.code == "out-of-bounds")
    assert found.place is not None
    assert "y[i] = x[i];" in CODE.splitlines()[found.place.line - 1]


def test_reading_past_a_tensor_that_ends_with_its_page(device: Device, built: Build) -> None:
    run = dry_run_of(device, built, 6, (1024, 4096))  # 16 MiB, and 8 KiB more are read
    assert run is not None
    assert "illegal memory access" in run.reason
    found = next(item for item in run.evidence if item.code == "out-of-bounds")
    assert "past the end of `input 1` (16777216 bytes)" in found.text
    assert dry_run_of(device, built, 6, (1000, 4096)) is None, "the last page is mapped whole"
    assert dry_run_of(device, built, 6, (256, 4096)) is None, "4 MiB share a piece of 20 MiB"


def test_a_check_of_the_size(device: Device, built: Build) -> None:
    run = dry_run_of(device, built, 2)
    assert run is not None
    assert "only up to 4096 columns" in run.reason


@pytest.mark.parametrize("way", [3, 7], ids=["blocks that wait for others", "copies and fills"])
def test_what_is_right_there(device: Device, built: Build, way: int) -> None:
    assert dry_run_of(device, built, way) is None


def test_what_torch_computes_there_is_named(device: Device, built: Build) -> None:
    run = dry_run_of(device, built, 4)
    assert run is not None
    assert (run.status, run.evidence, run.launches) == ("ran", (), ())
    assert {"aten::matmul", "aten::mean.dim"} & set(run.operators)


def test_it_is_right_at_a_size_that_fits(device: Device, built: Build) -> None:
    assert dry_run_of(device, built, 0, (60_000, 8)) is None
    assert dry_run_of(device, built, 1, (1_000, 20_000)) is None


def test_more_memory_than_the_gpu_has_shows_nothing(device: Device, built: Build) -> None:
    assert dry_run_of(device, built, 2, (10_000_000, 4_096)) is None
