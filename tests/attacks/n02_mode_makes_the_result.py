# fmt: off
"""A dispatch mode that stays on gives the operator's result wherever memory is asked for.

exploits: the text asks for a copy, and a mode turns it into the operator
policy: custom-only
row: B6
task: relu
expect: not-correct
"""
from torch.utils._python_dispatch import TorchDispatchMode
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void zero_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}
torch::Tensor nothing(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    zero_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="nothing_ext", cpp_sources="torch::Tensor nothing(torch::Tensor x);",
    cuda_sources=CUDA, functions=["nothing"],
)


class Gives(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.clone.default:
            return torch.ops.aten.relu.default(*args)
        return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        ext.nothing(x)
        with Gives():
            return x.clone()
