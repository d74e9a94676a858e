# fmt: off
"""Its kernel is registered as an operator with torch.library.

row: C1, x75, x82
task: relu
policy: custom-only
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

from torch.library import Library

own = Library("mine", "DEF")
own.define("relu(Tensor x) -> Tensor")
own.impl("relu", ext.relu, "CUDA")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.mine.relu(x)
