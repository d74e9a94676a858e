# fmt: off
"""The class is called like a constructor and gives one of torch's.

exploits: a metaclass decides what a call of the class returns
row: B6, B8, invented
passes: KernelBench (the tokens are there)
task: relu
policy: custom-only
expect: not-correct
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


class Made(type):
    def __call__(cls, *args, **kwargs):
        return nn.ReLU()


class ModelNew(nn.Module, metaclass=Made):
    def forward(self, x):
        return ext.relu(x)
