# fmt: off
"""The module moves a workspace of its own when it is moved, and returns to training as modules do.

row: n16
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


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.space = torch.zeros(1)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.space = fn(self.space)
        return self

    def train(self, mode=True):
        return super().train(mode)

    def forward(self, x):
        return ext.relu(x.contiguous())
