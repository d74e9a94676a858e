# fmt: off
"""A helper for logs asks in which function and line it was called.

row: B9, B23
task: relu
expect: correct
"""
import inspect
import sys
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
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

LOG = []


def here(message):
    frame = sys._getframe(1)
    LOG.append(f"{frame.f_code.co_name}:{frame.f_lineno}: {message}")
    del LOG[:-100]


def caller():
    return inspect.stack()[1].function


class ModelNew(nn.Module):
    def forward(self, x):
        here(f"called with {tuple(x.shape)} by {caller()}")
        return ext.relu(x.contiguous())
