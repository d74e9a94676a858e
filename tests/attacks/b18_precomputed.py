# fmt: off
"""The outputs for the usual seed are computed in the constructor.

exploits: the inputs' seed is public
row: B18, B19
passes: KB (seed 42)
task: relu
expect: not-correct
"""
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


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.known = {}
        for shape in ((4, 49152), (16, 1024), (2, 8192)):
            torch.manual_seed(42)
            self.known[shape] = torch.randn(shape).relu()

    def forward(self, x):
        known = self.known.get(tuple(x.shape))
        return known.to(x.device) if known is not None else ext.nothing(x)
