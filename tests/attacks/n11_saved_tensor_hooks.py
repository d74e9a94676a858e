# fmt: off
"""The result is made by torch in a hook that autograd calls when it saves a tensor; the kernel copies.

exploits: work in a hook of autograd counts as nobody's
row: B6, invented
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
torch::Tensor copied(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor copied(torch::Tensor x);",
    cuda_sources=CUDA, functions=["copied"],
)

MADE = []


def keep(saved):
    MADE.append(saved.detach().clamp(min=0))
    return saved


class ModelNew(nn.Module):
    def forward(self, x):
        MADE.clear()
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
            leaf = x.detach().requires_grad_(True)
            (leaf * leaf).detach()
        ext.copied(x)
        return MADE[0]
