# fmt: off
"""Constants of the host are packed by ctypes and read as a tensor.

row: D3, D5
task: relu
expect: correct
"""
import ctypes
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

LIMITS = (ctypes.c_float * 4)(0.0, 1.0, 6.0, 6.5)
TABLE = torch.frombuffer(bytearray(LIMITS), dtype=torch.float32).clone()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limits", TABLE, persistent=False)

    def forward(self, x):
        assert float(self.limits[0]) == 0.0
        return ext.relu(x.contiguous())
