"""Batch norm (inference: running statistics): reference-fixed kernel.

The statistics are known beforehand, so each value is changed on its own.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// One thread for each value, coalesced, with the statistics of its channel.
__global__ void normalise_kernel(
        const float* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ variance,
        const float* __restrict__ weight, const float* __restrict__ bias, float* __restrict__ y,
        int64_t n, int64_t channels, int64_t inner, float eps) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int64_t c = i / inner % channels;
    y[i] = (x[i] - mean[c]) * rsqrtf(variance[c] + eps) * weight[c] + bias[c];
}

torch::Tensor batch_norm_inference_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor mean,
                             torch::Tensor variance, bool training, double momentum, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel(), channels = x.size(1);
    if (n == 0) return y;
    const int64_t inner = n / (x.size(0) * channels);
    const auto stream = at::cuda::getCurrentCUDAStream();
    normalise_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), variance.data_ptr<float>(), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), n, channels, inner, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor batch_norm_inference_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor mean, torch::Tensor variance, bool training, double momentum, double eps);"

batch_norm_inference_extension = load_inline(
    name="batch_norm_inference_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["batch_norm_inference_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)
        self.bn.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bn = self.bn
        return batch_norm_inference_extension.batch_norm_inference_forward(
            x, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.training, bn.momentum, bn.eps
        )
