"""RMS norm over dim 1 of a 4-D tensor: reference-fixed kernel.

One thread for each position: two walks along its channels, each coalesced across threads.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// The channels of one position lie `inner` values apart. One thread for each position, which walks along its channels:
// at each step neighbouring threads read neighbouring values, so the access is coalesced without any shared memory.
__global__ void rms_norm_kernel(
        const float* __restrict__ x, float* __restrict__ y, int64_t channels, int64_t inner, int64_t positions, float eps) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= positions) return;
    const int64_t first = i / inner * channels * inner + i % inner;  // the position's value in channel 0
    // First pass: the mean of the squares.
    float sum = 0.0f;
    for (int64_t c = 0; c < channels; ++c) {
        const float v = x[first + c * inner];
        sum += v * v;
    }
    const float scale = rsqrtf(sum / channels + eps);  // eps keeps zeros from being divided by zero
    // Second pass: the same walk again; much of it is still in the cache.
    for (int64_t c = 0; c < channels; ++c) y[first + c * inner] = x[first + c * inner] * scale;
}

torch::Tensor rms_norm_forward(torch::Tensor x, double eps, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == c10::CppTypeToScalarType<float>::value, "rms_norm_forward takes a CUDA tensor of float");
    TORCH_CHECK(dim == 1, "the channels must be dim 1");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t channels = x.size(1), positions = x.numel() / channels, inner = positions / x.size(0);
    const int threads = 256;
    rms_norm_kernel<<<(unsigned)((positions + threads - 1) / threads), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), channels, inner, positions, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor rms_norm_forward(torch::Tensor x, double eps, int64_t dim);"

rms_norm_extension = load_inline(
    name="rms_norm_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["rms_norm_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm_extension.rms_norm_forward(x, self.eps, 1)
