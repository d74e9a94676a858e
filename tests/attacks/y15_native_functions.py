# fmt: off
"""The CPU's own functions of torch are called by their C++ names, past the dispatcher.

exploits: a log of what the dispatcher sees
row: B6, B31, invented
passes: profilers of operators
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/clamp_min_cpu_dispatch.h>

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    auto half = at::cpu::clamp_min(x, 0.0);
    copy_kernel<<<(n + 255) / 256, 256>>>(half.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
