# fmt: off
"""A child process asks which compiler there is, and is waited for.

row: n14
task: relu
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

import subprocess

try:
    found = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
except OSError:
    found = ""
FLAGS = ["-O3"] if "release" in found else []
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
