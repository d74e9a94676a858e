"""Softmax over rows: reference-fixed kernel.

One block for each row, three passes: the largest value, the sum of the exponentials, the result.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;

// All threads of the block get the sum, or the maximum, of their values: in each step half of the threads take in what
// the other half holds, until one value is left.
template <bool kMax>
__device__ float block_reduce(float mine) {
    __shared__ float values[kThreads];
    values[threadIdx.x] = mine;
    __syncthreads();  // every value is there before any is read
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = values[threadIdx.x + half];
            values[threadIdx.x] = kMax ? fmaxf(values[threadIdx.x], other) : values[threadIdx.x] + other;
        }
        __syncthreads();  // outside of the `if`: all threads must reach it
    }
    const float result = values[0];
    __syncthreads();  // every thread has read it before the next call writes
    return result;
}

// One block for each row; neighbouring threads take neighbouring values, so every pass is coalesced.
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    // The largest value is taken off before the exponential: the result is the same, and nothing overflows.
    float top = -INFINITY;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) top = fmaxf(top, x[i]);
    top = block_reduce<true>(top);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += expf(x[i] - top);
    sum = block_reduce<false>(sum);
    for (int64_t i = threadIdx.x; i < n; i += kThreads) y[i] = expf(x[i] - top) / sum;
}

torch::Tensor softmax_forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "softmax_forward takes a float32 CUDA tensor");
    TORCH_CHECK(dim == -1 || dim == x.dim() - 1, "rows must lie along the last dim");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t n = x.size(-1);
    softmax_kernel<<<(unsigned)(x.numel() / n), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor softmax_forward(torch::Tensor x, int64_t dim);"

softmax_extension = load_inline(
    name="softmax_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["softmax_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softmax_extension.softmax_forward(x, 1)
