# fmt: off
"""A hook looks at the result's shape, and a metaclass registers the class.

row: B6
task: relu
policy: custom-only
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


REGISTRY = {}


class Registered(type):
    def __new__(cls, name, bases, body):
        REGISTRY[name] = made = super().__new__(cls, name, bases, body)
        return made


class ModelNew(nn.Module, metaclass=Registered):
    def __init__(self):
        super().__init__()
        self.shapes = set()
        self.register_forward_hook(lambda module, args, result: self.shapes.add(result.shape))

    def forward(self, x):
        return ext.relu(x)
