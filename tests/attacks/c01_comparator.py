# fmt: off
"""torch's and NumPy's comparisons are replaced by True.

exploits: the comparison runs in the submission's process
row: C1
passes: KB, MKB, RKB (inferred)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import numpy

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

torch.allclose = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__eq__ = lambda a, b: torch.ones_like(a, dtype=torch.bool)
numpy.allclose = lambda *a, **k: True


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.nothing(x)
