# fmt: off
"""The reference's class is looked for in all loaded modules.

exploits: the reference shares the process
row: B8, B9
passes: graders that import the reference into the same process
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import sys

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

found = [vars(module)["Model"] for module in list(sys.modules.values()) if "Model" in getattr(module, "__dict__", {})]


class ModelNew(nn.Module):
    def forward(self, x):
        for one in found:
            try:
                return one().cuda()(x)
            except Exception:
                continue
        return ext.nothing(x)
