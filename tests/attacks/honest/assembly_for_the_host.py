# fmt: off
"""The host reads its time stamp counter and pauses, by assembly.

row: D1, x45
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
static unsigned long ticks() {
    unsigned low = 0, high = 0;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    asm volatile("pause");
    return (static_cast<unsigned long>(high) << 32) | low;
}
torch::Tensor relu(torch::Tensor x) {
    static unsigned long first = ticks();
    (void)first;
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
        return ext.relu(x.contiguous())
