# fmt: off
"""Right where blocks begin one after the other, in the order of their numbers.

exploits: a simulator has an order, a GPU has none
row: B23, D10, invented
passes: every grader that checks on one machine and times on another
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__device__ unsigned turn;
__global__ void relu_kernel(const float* x, float* y, long n) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = atomicAdd(&turn, 1u) % gridDim.x;
    __syncthreads();
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = mine == blockIdx.x && x[i] > 0.0f ? x[i] : 0.0f;
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


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
