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
#include <cmath>

__device__ __forceinline__ float term(float a, float b) {
    const float d = a - b;
    return d * d;
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

// Each thread sums a few thousand terms at most in float, the threads' sums meet in double. Two kernels
// instead of atomics: the order of the sum, and so the result, is the same in every run.
__global__ void __launch_bounds__(512) partial_kernel(
        const float* __restrict__ a, const float* __restrict__ b, double* __restrict__ partial, int64_t n, int64_t period) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    double total = 0.0;
    float sum = 0.0f;
    int count = 0;
    #pragma unroll 4
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        sum += term(a[i], b[period == n ? i : i % period]);
        if (++count == 64) {
            total += sum;
            sum = 0.0f;
            count = 0;
        }
    }
    total = block_sum(total + sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void __launch_bounds__(512) total_kernel(const double* __restrict__ partial, float* __restrict__ y, int blocks, double divisor) {
    double total = 0.0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) total += partial[i];
    total = block_sum(total);
    if (threadIdx.x == 0) *y = (float)(total / divisor);
}

// The sum of all terms over `divisor`. `b` may be smaller than `a`: it is then repeated along the leading dims.
torch::Tensor mse_cuda(torch::Tensor a, torch::Tensor b, double divisor) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "mse_cuda takes CUDA tensors");
    a = a.contiguous().to(torch::kFloat32);
    b = b.contiguous().to(torch::kFloat32);
    auto y = torch::empty({}, a.options());
    const int64_t n = a.numel();
    const int64_t wanted = (n + 2047) / 2048;
    const int blocks = (int)(wanted < 1 ? 1 : wanted > 2112 ? 2112 : wanted);
    auto partial = torch::empty({blocks}, a.options().dtype(torch::kFloat64));
    const auto stream = at::cuda::getCurrentCUDAStream();
    partial_kernel<<<blocks, 512, 0, stream>>>(a.data_ptr<float>(), b.data_ptr<float>(), partial.data_ptr<double>(), n, b.numel());
    total_kernel<<<1, 512, 0, stream>>>(partial.data_ptr<double>(), y.data_ptr<float>(), blocks, divisor);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor mse_cuda(torch::Tensor a, torch::Tensor b, double divisor);"

mse = load_inline(
    name="mse",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["mse_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return mse.mse_cuda(predictions, targets, predictions.numel())
