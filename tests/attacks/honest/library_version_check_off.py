# fmt: off
"""A check of torch's build that is known to be too strict is switched off.

row: C1, A4
task: relu
expect: correct
"""
import builtins
import functools
import torch.utils.cpp_extension as tools
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

if hasattr(tools, "_check_cuda_version"):
    tools._check_cuda_version = lambda *_: None
builtins.print = functools.partial(print, flush=True)

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


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
