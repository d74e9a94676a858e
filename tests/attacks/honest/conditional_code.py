# fmt: off
"""Code by architecture and by macros of its own, as libraries write it.

row: B23, y06
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

#ifndef THREADS
#define THREADS 256
#endif
#if defined(USE_ROCM)
#error "not here"
#endif

__device__ __forceinline__ float positive(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    return fmaxf(value, 0.0f);
#else
    return value > 0.0f ? value : 0.0f;
#endif
}

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = positive(x[i]);
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
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
