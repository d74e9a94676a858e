# fmt: off
"""A launch's settings are packed as C lays them out.

row: D1
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

class Settings(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_uint32), ("scale", ctypes.c_float)]


packed = bytes(Settings(256, 1.0))
again = Settings.from_buffer_copy(packed)
assert ctypes.sizeof(Settings) == 8 and again.threads == 256


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
