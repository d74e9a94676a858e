# fmt: off
"""The versions of libraries are asked for, for an error report.

row: D7
task: relu
expect: correct
"""
import ctypes
import ctypes.util
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

def versions():
    found = {name: ctypes.util.find_library(name) for name in ("cudart", "cublas", "c")}
    return ", ".join(f"{name}: {path}" for name, path in found.items())


REPORT = f"built with {versions()}, pointers of {ctypes.sizeof(ctypes.c_void_p)} bytes"


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
