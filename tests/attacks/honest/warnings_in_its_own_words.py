# fmt: off
"""Warnings are shown in one line, each once.

row: C1
task: relu
expect: correct
"""
import warnings
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


def one_line(message, category, filename, lineno, line=None):
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = one_line
warnings.simplefilter("once")
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
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_contiguous():
            warnings.warn("the input is copied", stacklevel=2)
        return ext.relu(x.contiguous())
