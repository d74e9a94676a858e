# fmt: off
"""The interpreter's memory is overwritten by ctypes.

exploits: tolerance and timers lie in the same memory
row: D1, D3
passes: PYG (error_counter, function_detour)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import ctypes

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

libc = ctypes.CDLL(None)
for value in (1e-5, 1e-4, 1e-3):
    address = id(value) + 16
    ctypes.memmove(address, ctypes.byref(ctypes.c_double(1e9)), 8)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.nothing(x)
