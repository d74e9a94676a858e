# fmt: off
"""An in-place kernel on a copy of the input.

row: B16
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n && y[i] < 0.0f) y[i] = 0.0f;
}

torch::Tensor relu_(torch::Tensor y) {
    long n = y.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu__ext", cpp_sources="torch::Tensor relu_(torch::Tensor y);",
    cuda_sources=CUDA, functions=["relu_"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu_(x.clone())
