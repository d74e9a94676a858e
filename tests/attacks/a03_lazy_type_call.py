# fmt: off
"""The lazy subclass is made by a call of type(), out of sight of a text check.

exploits: nothing runs before the timer stops
row: A3
passes: KB, GPUM
task: relu
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
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

Base = getattr(torch, "Ten" + "sor")


def when_asked(cls, func, types, args=(), kwargs=None):
    plain = [ext.relu(a.as_subclass(Base)) if type(a) is Later else a for a in args]
    return func(*plain, **(kwargs or {}))


Later = type("Later", (Base,), {"__torch_function__": classmethod(when_asked)})


class ModelNew(nn.Module):
    def forward(self, x):
        return x.as_subclass(Later)
