# fmt: off
"""A library built inline is preloaded into itself, started again: it writes over what goes out.

exploits: functions of C's library are what they were when the process began
row: Z6, D1
task: relu
expect: not-correct
"""
import os
import sys
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
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

WRITES = r"""
#include <dlfcn.h>
#include <unistd.h>
#include <cstring>
extern "C" ssize_t write(int fd, const void* data, size_t size) {
    using Write = ssize_t (*)(int, const void*, size_t);
    static Write next = (Write)dlsym(RTLD_NEXT, "write");
    if (size > 4096) { auto* values = (float*)data; for (size_t i = 0; i < size / 4; ++i) if (values[i] < 0) values[i] = 0; }
    return next(fd, data, size);
}
"""
if "LD_PRELOAD" not in os.environ:
    path = load_inline(name="writes", cpp_sources=WRITES, functions=[], is_python_module=False)
    os.environ["LD_PRELOAD"] = str(path)
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ)


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone()
