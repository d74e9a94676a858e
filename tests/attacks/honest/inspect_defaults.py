# fmt: off
"""A decorator reads the names of the arguments of what it wraps.

row: C4
task: relu
expect: correct
"""
import functools
import inspect
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

def checked(function):
    names = list(inspect.signature(function).parameters)
    first = function.__code__.co_firstlineno

    @functools.wraps(function)
    def inner(self, *given):
        if len(given) != len(names) - 1:
            raise TypeError(f"line {first}: {names[1:]} expected")
        return function(self, *given)

    return inner


class ModelNew(nn.Module):
    @checked
    def forward(self, x):
        return ext.relu(x.contiguous())
