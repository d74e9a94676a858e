# fmt: off
"""What is installed is asked of the import system, and decides between two ways to launch.

row: X12, E6
task: relu
expect: correct
"""
import importlib.metadata
import importlib.util
import sys

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


HAS_TRITON = importlib.util.find_spec("triton") is not None
TORCH = tuple(int(part) for part in importlib.metadata.version("torch").split("+")[0].split(".")[:2])
if sys.version_info < (3, 8) or TORCH < (1, 13):
    raise RuntimeError("too old")
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
        return ext.relu(x if TORCH >= (2, 0) or not HAS_TRITON else x.clone())
