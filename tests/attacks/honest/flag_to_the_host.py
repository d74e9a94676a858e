# fmt: off
"""A kernel's own flag is copied to the host, which chooses the next launch by it; all work is the kernels'.

row: B6
task: relu
policy: custom-only
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void any_negative(const float* x, int* flag, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n && !(x[i] >= 0.0f)) atomicExch(flag, 1);
}

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto flag = torch::zeros({1}, x.options().dtype(torch::kInt32));
    long n = x.numel();
    int blocks = (n + 255) / 256;
    any_negative<<<blocks, 256>>>(x.data_ptr<float>(), flag.data_ptr<int>(), n);
    int negative = 0;
    cudaMemcpy(&negative, flag.data_ptr<int>(), sizeof(int), cudaMemcpyDeviceToHost);
    if (negative) relu_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    else copy_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
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
