# fmt: off
"""The wrapper in C++ lets torch multiply; its kernel adds zero to the result.

exploits: a launch on the result counts as the work
row: B6, B31
task: matmul
expect: not-correct
policy: custom-only
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void matmul_kernel(float* y, long n, float add) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += add;
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    auto y = torch::matmul(a, b);
    long n = y.numel();
    matmul_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n, 0.0f);
    return y;
}
"""
ext = load_inline(
    name="product_ext", cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA, functions=["product"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.product(a, b)
