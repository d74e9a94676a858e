# fmt: off
"""Workspaces are kept as long as the model lives.

row: B1, B17
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

SPACES = weakref.WeakKeyDictionary()


class ModelNew(nn.Module):
    def forward(self, x):
        spaces = SPACES.setdefault(self, {})
        key = (x.shape, x.device)
        if key not in spaces:
            spaces[key] = torch.empty(x.shape, device=x.device)
        space = spaces[key]
        space.copy_(x)
        return ext.relu(space)
