# fmt: off
"""A part of the model knows its owner by a weak reference.

row: B1, c03
task: relu
expect: correct
"""
import weakref
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


class Kernel:
    def __init__(self, owner):
        self.owner = weakref.ref(owner)

    def __call__(self, x):
        owner = self.owner()
        if owner is None:
            raise RuntimeError("the model is gone")
        owner.calls += 1
        return ext.relu(x)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.kernel = Kernel(self)

    def forward(self, x):
        return self.kernel(x.contiguous())
