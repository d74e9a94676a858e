"""Layer norm over the last dims: reference-fixed kernel.

One block for each group, three passes: the mean, the variance about it, the result.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 512;

// All threads of the block get the sum of their values: in each step half of the threads add what the other half
// holds, until one value is left. Shared memory is how the threads of a block see each other's values.
__device__ float block_sum(float mine) {
    __shared__ float values[kThreads];
    values[threadIdx.x] = mine;
    __syncthreads();  // every value is there before any is read
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();  // outside of the `if`: all threads must reach it
    }
    const float result = values[0];
    __syncthreads();  // every thread has read it before the next call writes
    return result;
}

// One block for each group of n values. Neighbouring threads take neighbouring values in every pass, so the access is
// coalesced.
__global__ void norm_kernel(
        const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias, float* __restrict__ y,
        int64_t n, int64_t channels, int64_t inner, float eps) {
    const int64_t first = blockIdx.x * n;
    // The mean first and the variance about it second: the difference of two large sums (E[x^2] - E[x]^2) in one pass
    // would lose the digits that matter.
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += x[first + i];
    const float mean = block_sum(sum) / n;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
        const float d = x[first + i] - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(block_sum(squares) / n + eps);  // eps keeps a constant group from a division by zero
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
        const int64_t c = (first + i) / inner % channels;  // whose weight and bias it gets
        y[first + i] = (x[first + i] - mean) * scale * weight[c] + bias[c];
    }
}

// A weight belongs to `inner` neighbouring values: to one value in a layer norm, to a channel's plane in a group norm.
torch::Tensor layer_norm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                             int64_t groups, int64_t inner, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "layer_norm_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    norm_kernel<<<(unsigned)groups, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        x.numel() / groups, weight.numel(), inner, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor layer_norm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, int64_t inner, double eps);"

layer_norm_extension = load_inline(
    name="layer_norm_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["layer_norm_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = x.numel() // self.ln.weight.numel()
        return layer_norm_extension.layer_norm_forward(x, self.ln.weight, self.ln.bias, groups, 1, self.ln.eps)
