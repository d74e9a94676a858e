# fmt: off
"""A kernel is launched, its result thrown away, and torch computes.

exploits: a launched kernel looks like custom work
row: B6
passes: KB (asks only for the token __global__), KBC audited 10 and more
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void zero_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}

torch::Tensor nothing(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    zero_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="nothing_ext", cpp_sources="torch::Tensor nothing(torch::Tensor x);",
    cuda_sources=CUDA, functions=["nothing"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        ext.nothing(x[:1])
        return torch.relu(x)
