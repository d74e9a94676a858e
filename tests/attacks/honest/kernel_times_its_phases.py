# fmt: off
"""Under a flag the kernel notes the clock of its phases in a buffer that no result comes from.

row: A13, F8
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__device__ __forceinline__ long long now() {
    long long t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
    return t;
}
__global__ void relu_kernel(const float* x, float* y, long n, long long* spent) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    long long begin = spent ? now() : 0;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
    if (spent && threadIdx.x == 0) spent[blockIdx.x] = now() - begin;
}
torch::Tensor relu(torch::Tensor x, bool profile) {
    auto y = torch::empty_like(x);
    long n = x.numel(), blocks = (n + 255) / 256;
    auto spent = torch::zeros({profile ? blocks : 0}, x.options().dtype(torch::kInt64));
    relu_kernel<<<blocks, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n,
        profile ? reinterpret_cast<long long*>(spent.data_ptr<int64_t>()) : nullptr);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x, bool profile);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def __init__(self, profile=True):
        super().__init__()
        self.profile = profile

    def forward(self, x):
        return ext.relu(x, self.profile)
