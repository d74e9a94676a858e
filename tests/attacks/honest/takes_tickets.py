# fmt: off
"""Blocks draw the number of their work from a counter, in whatever order they begin.

row: D10
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, long n, unsigned* next) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(next, 1u);
    __syncthreads();
    long i = ticket * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    auto next = torch::zeros({1}, x.options().dtype(torch::kInt32));
    relu_kernel<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n, (unsigned*)next.data_ptr<int>());
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
