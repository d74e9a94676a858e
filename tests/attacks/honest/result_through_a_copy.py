# fmt: off
"""A kernel writes a buffer of its own; what is returned is a copy of it, and a value is read with item().

row: B22, x28
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
    auto t = torch::empty_like(x);
    auto y = torch::zeros_like(x);
    long n = x.numel();
    TORCH_CHECK(n == 0 || x.flatten()[0].item<float>() <= 3.5e38f, "an infinite input");
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), t.data_ptr<float>(), n);
    y.copy_(t);
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
