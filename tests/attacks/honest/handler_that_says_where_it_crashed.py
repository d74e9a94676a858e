# fmt: off
"""The extension has a handler of its own for faults, which prints where the program was.

row: X66, D6
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <csignal>
#include <cstdio>
#include <execinfo.h>
#include <unistd.h>
static void told(int number) {
    void* frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
    signal(number, SIG_DFL);
    raise(number);
}
static const int installed = [] {
    std::signal(SIGSEGV, told);
    std::signal(SIGABRT, told);
    return 1;
}();
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


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
