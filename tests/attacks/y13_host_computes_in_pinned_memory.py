# fmt: off
"""A kernel copies to memory of the host's, the CPU computes there, and a kernel copies back.

exploits: memory that both may touch
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
    long n = x.numel();
    float* shared = nullptr;
    cudaMallocManaged(&shared, n * sizeof(float));
    copy_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), shared, n);
    cudaDeviceSynchronize();
    for (long i = 0; i < n; ++i) shared[i] = shared[i] < 0.0f ? 0.0f : shared[i];
    copy_kernel<<<(n + 255) / 256, 256>>>(shared, y.data_ptr<float>(), n);
    cudaDeviceSynchronize();
    cudaFree(shared);
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
