# fmt: off
"""A wrapper in C++ leaves the product to torch and adds its own kernel's step, which counts.

row: B31
task: matmul
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void scale_kernel(float* y, long n, float s) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] *= s;
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    auto y = torch::matmul(a, b * 0.5f);
    long n = y.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n, 2.0f);
    return y;
}
"""
ext = load_inline(
    name="product_ext", cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA, functions=["product"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.product(a.contiguous(), b.contiguous())
