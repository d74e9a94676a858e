# fmt: off
"""Unused memory goes back to the system, and the thread gets a name and tells its number.

row: D1, D4, D6
task: relu
expect: correct
"""
import ctypes
import logging
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

libc = ctypes.CDLL("libc.so.6", use_errno=True)
PR_SET_NAME = 15
GETTID = 186
libc.prctl(PR_SET_NAME, b"relu-build", 0, 0, 0)
libc.malloc_trim(0)
logging.getLogger("relu").debug("thread %d, errno %d", libc.syscall(GETTID), ctypes.get_errno())


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
