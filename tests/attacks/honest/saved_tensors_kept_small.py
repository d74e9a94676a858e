# fmt: off
"""Saved tensors are counted by autograd's own hooks, which change nothing.

row: n11
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
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

SAVED = [0]


def count(saved):
    SAVED[0] += saved.numel()
    return saved


class ModelNew(nn.Module):
    def forward(self, x):
        with torch.autograd.graph.saved_tensors_hooks(count, lambda kept: kept):
            return ext.relu(x.contiguous())
