# fmt: off
"""Values go to the host less than a kilobyte at a time, where the CPU computes.

exploits: copies of less than a kilobyte to the host are no values
row: B6, invented
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto half = torch::empty_like(x);
    long n = x.numel();
    float part[255];
    for (long at = 0; at < n; at += 255) {
        size_t size = sizeof(float) * std::min(255L, n - at);
        cudaMemcpy(part, x.data_ptr<float>() + at, size, cudaMemcpyDeviceToHost);
        for (int i = 0; i < 255; ++i) part[i] = part[i] < 0.0f ? 0.0f : part[i];
        cudaMemcpy(half.data_ptr<float>() + at, part, size, cudaMemcpyHostToDevice);
    }
    copy_kernel<<<(n + 255) / 256, 256>>>(half.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
