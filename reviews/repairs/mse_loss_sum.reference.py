"""Mean squared error: reference-fixed kernel.

Every value is read once. Blocks leave partial sums and a second, small kernel joins them in a fixed order,
so that the result is the same in every run; sums of many terms are kept in double.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <algorithm>
#include <cmath>

__device__ __forceinline__ float term(float a, float b) {
    const float d = a - b;
    return d * d;
}

__device__ __forceinline__ float terms(float4 a, float4 b) {
    return (term(a.x, b.x) + term(a.y, b.y)) + (term(a.z, b.z) + term(a.w, b.w));
}

// All threads of the block get the block's sum. blockDim.x is a multiple of 32, at most 1024.
__device__ __forceinline__ double block_sum(double v) {
    __shared__ double partial[32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = lane < (int)(blockDim.x >> 5) ? partial[lane] : 0.0;
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// Sixteen terms at a time are summed in float, these sums meet in double. Two kernels instead of atomics: the order of
// the sum, and so the result, is the same in every run. `b` repeats after `period` terms; the first 4 * vectors terms
// are read as vectors of 16 bytes, four of each tensor before the first is used.
__global__ void __launch_bounds__(512) partial_kernel(
        const float* __restrict__ a, const float* __restrict__ b, double* __restrict__ partial, int64_t n, int64_t period, int64_t vectors) {
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    const float4* __restrict__ wide_a = (const float4*)a;
    const float4* __restrict__ wide_b = (const float4*)b;
    const int64_t turn = period == n ? vectors + 4 * stride : period / 4;  // vectors of b; of as many as a it has no end
    int64_t at = thread % turn;
    const int64_t hop = stride % turn;
    double total = 0.0;
    int64_t i = thread;
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        float4 u[4], v[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            u[k] = __ldg(wide_a + i + k * stride);
            v[k] = wide_b[at];
            at += hop;
            if (at >= turn) at -= turn;
        }
        total += (terms(u[0], v[0]) + terms(u[1], v[1])) + (terms(u[2], v[2]) + terms(u[3], v[3]));
    }
    for (; i < vectors; i += stride) {
        total += terms(wide_a[i], wide_b[at]);
        at += hop;
        if (at >= turn) at -= turn;
    }
    for (i = 4 * vectors + thread; i < n; i += stride) total += term(a[i], b[period == n ? i : i % period]);
    total = block_sum(total);
    if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void __launch_bounds__(1024) total_kernel(const double* __restrict__ partial, float* __restrict__ y, int blocks, double divisor) {
    double total = 0.0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) total += partial[i];
    total = block_sum(total);
    if (threadIdx.x == 0) *y = (float)(total / divisor);
}

// The sum of all terms over `divisor`. `b` may be smaller than `a`: it is then repeated along the leading dims.
torch::Tensor mse_loss_forward(torch::Tensor a, torch::Tensor b, double divisor) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "mse_loss_forward takes CUDA tensors");
    a = a.contiguous().to(torch::kFloat32);
    b = b.contiguous().to(torch::kFloat32);
    auto y = torch::empty({}, a.options());
    const int64_t n = a.numel(), period = b.numel();
    const bool aligned = ((uintptr_t)a.data_ptr<float>() | (uintptr_t)b.data_ptr<float>()) % 16 == 0;
    const int64_t vectors = aligned && (period == n || period % 4 == 0) ? n / 4 : 0;
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, a.get_device());
    const int blocks = (int)std::max((int64_t)1, std::min((n + 8191) / 8192, (int64_t)multiprocessors * 8));
    auto partial = torch::empty({blocks}, a.options().dtype(torch::kFloat64));
    const auto stream = at::cuda::getCurrentCUDAStream();
    partial_kernel<<<blocks, 512, 0, stream>>>(a.data_ptr<float>(), b.data_ptr<float>(), partial.data_ptr<double>(), n, period, vectors);
    total_kernel<<<1, 1024, 0, stream>>>(partial.data_ptr<double>(), y.data_ptr<float>(), blocks, divisor);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor mse_loss_forward(torch::Tensor a, torch::Tensor b, double divisor);"

mse_loss_extension = load_inline(
    name="mse_loss_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["mse_loss_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return mse_loss_extension.mse_loss_forward(predictions, targets, predictions.numel())
