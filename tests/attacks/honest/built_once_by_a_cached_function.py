# fmt: off
"""The extension is built at the first call, by a function that remembers it.

row: B1
task: relu
expect: correct
"""
from functools import cached_property, lru_cache

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
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


@lru_cache(maxsize=None)
def extension(name):
    return load_inline(
        name=name, cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=CUDA, functions=["relu"],
    )


class ModelNew(nn.Module):
    @cached_property
    def kernels(self):
        return extension("relu_once")

    def forward(self, x):
        return self.kernels.relu(x)
