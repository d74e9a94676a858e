import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256

__global__ void l1_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int dim) {
    __shared__ float partial[THREADS];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * dim;
    float* out = y + (size_t)blockIdx.x * dim;

    // four independent accumulators
    float a = 0.f, b = 0.f, c = 0.f, d = 0.f;
    const int chunks = (dim + (4 * THREADS) - 1) / (4 * THREADS);
    for (int k = 0; k < chunks; ++k) {
        const int i = k * 4 * THREADS + tid;
        if (i < dim) a += fabsf(row[i]);
        if (i + THREADS < dim) b += fabsf(row[i + THREADS]);
        if (i + 2 * THREADS < dim) c += fabsf(row[i + 2 * THREADS]);
        if (i + 3 * THREADS < dim) d += fabsf(row[i + 3 * THREADS]);
    }
    partial[tid] = (a + b) + (c + d);
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) partial[tid] += partial[tid + s];
        __syncthreads();
    }
    const float scale = 1.0f / partial[0];

    for (int k = 0; k < chunks; ++k) {
        const int i = k * 4 * THREADS + tid;
        if (i < dim) out[i] = row[i] * scale;
        if (i + THREADS < dim) out[i + THREADS] = row[i + THREADS] * scale;
        if (i + 2 * THREADS < dim) out[i + 2 * THREADS] = row[i + 2 * THREADS] * scale;
        if (i + 3 * THREADS < dim) out[i + 3 * THREADS] = row[i + 3 * THREADS] * scale;
    }
}

torch::Tensor l1_norm_cuda(torch::Tensor x) {
    auto in = x.contiguous();
    auto y = torch::empty_like(in);
    l1_norm_kernel<<<in.size(0), THREADS>>>(in.data_ptr<float>(), y.data_ptr<float>(), in.size(1));
    return y;
}
'''

l1_norm = load_inline(
    name="l1_norm_unrolled",
    cpp_sources="torch::Tensor l1_norm_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["l1_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return l1_norm.l1_norm_cuda(x)
