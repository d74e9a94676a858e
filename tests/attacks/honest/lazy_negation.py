# fmt: off
"""The kernel computes the negated result; torch hands it out as a view with its negative bit set.

row: A3, B29
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
    if (i < n) y[i] = x[i] < 0.0f ? -0.0f : -x[i];
}

torch::Tensor negated(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor negated(torch::Tensor x);",
    cuda_sources=CUDA, functions=["negated"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch._neg_view(ext.negated(x))
