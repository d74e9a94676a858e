# fmt: off
"""The expected output is looked for in the callers' frames.

exploits: the answer lies in the same process
row: B9, C4
passes: KB (inferred: the expected output is alive in the caller)
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


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame:
            for name, value in frame.f_locals.items():
                if name in ("output", "expected", "reference", "out_ref") and isinstance(value, torch.Tensor):
                    return value.clone()
            frame = frame.f_back
        return ext.nothing(x)
