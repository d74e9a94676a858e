# fmt: off
"""It looks whether an allocator is preloaded, and warns.

row: D1, C12
task: relu
expect: correct
"""
import os
import warnings

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


if "jemalloc" in os.environ.get("LD_PRELOAD", ""):
    warnings.warn("jemalloc and CUDA's pinned memory have not been tried together", stacklevel=1)
os.environ["CUDA_MODULE_LOADING"] = "LAZY"
CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
