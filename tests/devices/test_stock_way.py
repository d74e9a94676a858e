"""A program that only the stock compilers can build meets the simulator all the same."""

from __future__ import annotations

import pytest

from grader import judge, sandbox
from grader.build import stock_way
from grader.devices import Device
from grader.execution.reference import reference
from grader.records import Task, TensorSpec, Workload

from .conftest import a_submission

# A lambda sends one file to nvcc, a start other than torch/extension.h the other to g++. Torch's headers, over which nvcc takes half a
# minute, are in the latter alone, and no more of them than it needs; both ways are one function of the driver.
CODE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
template <typename F> __global__ void each(int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

void launch(cudaStream_t stream, const float* from, float* to, int n) {
    each<<<(n + 255) / 256, 256, 0, stream>>>(n, [=] __device__(int i) { to[i] = 2.0f * from[i]; });
}
"""
bound = """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/utils/pybind.h>

void launch(cudaStream_t stream, const float* from, float* to, int n);

at::Tensor twice(at::Tensor x) {
    const at::cuda::CUDAGuard guard(x.device());
    auto y = at::empty_like(x);
    launch(at::cuda::getCurrentCUDAStream(), x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }
"""
module = load_inline(
    name="twice",
    cpp_sources=bound,
    cuda_sources=source,
    extra_cuda_cflags=["--extended-lambda"],
    no_implicit_headers=True,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.twice(x)
'''
TASK = Task(
    name="double",
    title="twice the input",
    source="file",
    reference="import torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
    workloads=(Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(3, 100)),)),),
)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_torchs_cuda_calls_reach_the_simulator(device: Device) -> None:
    submission = a_submission(CODE)
    build = device.build(submission, ())
    assert build.status == "built", build.log[-3000:]
    assert stock_way(build)
    known = reference(TASK, TASK.workloads, 1, device.form, sandbox.Limits(wall=60))  # type: ignore[attr-defined]
    (result,) = device.run(submission, build, TASK, known)
    assert result.run.status == "ran", result.run.reason
    assert judge.compare(TASK, TASK.workloads[0], known, result).equal
