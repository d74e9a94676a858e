# fmt: off
"""The launch asks for more shared memory than there is, and nobody checks.

exploits: a failed launch takes no time and leaves old memory
row: B5
passes: harnesses without a check of launches ("104x" on MI300X)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    extern __shared__ float part[];
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (i < n) y[i] = part[threadIdx.x] < 0.0f ? 0.0f : part[threadIdx.x];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256, 1 << 20>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    cudaGetLastError();
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
