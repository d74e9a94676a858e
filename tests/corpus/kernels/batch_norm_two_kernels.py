# task: batch-norm
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

// Kernel 1: mean and biased variance of each channel over batch and space.
__global__ void channel_stats_kernel(const float* __restrict__ x, float* __restrict__ mean,
                                     float* __restrict__ var, int N, int C, int HW) {
    extern __shared__ float smem[];
    float* s_sum = smem;
    float* s_sq = smem + blockDim.x;
    const int c = blockIdx.x;
    const int count = N * HW;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int n = i / HW;
        const int p = i % HW;
        sum += x[((size_t)n * C + c) * HW + p];
    }
    s_sum[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) s_sum[threadIdx.x] += s_sum[threadIdx.x + s];
        __syncthreads();
    }
    const float mu = s_sum[0] / count;

    float sq = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int n = i / HW;
        const int p = i % HW;
        const float d = x[((size_t)n * C + c) * HW + p] - mu;
        sq += d * d;
    }
    s_sq[threadIdx.x] = sq;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) s_sq[threadIdx.x] += s_sq[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        mean[c] = mu;
        var[c] = s_sq[0] / count;
    }
}

// Kernel 2: normalise, scale and shift.
__global__ void apply_kernel(const float* __restrict__ x, const float* __restrict__ mean,
                             const float* __restrict__ var, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y,
                             int C, int HW, int total, float eps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        const int c = (i / HW) % C;
        y[i] = (x[i] - mean[c]) * rsqrtf(var[c] + eps) * weight[c] + bias[c];
    }
}

torch::Tensor batch_norm_train(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    x = x.contiguous();
    const int N = x.size(0);
    const int C = x.size(1);
    const int HW = x.size(2) * x.size(3);
    auto mean = torch::empty({C}, x.options());
    auto var = torch::empty({C}, x.options());
    auto y = torch::empty_like(x);
    const int threads = 256;
    channel_stats_kernel<<<C, threads, 2 * threads * sizeof(float)>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), N, C, HW);
    const int total = x.numel();
    apply_kernel<<<(total + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), C, HW, total, (float)eps);
    return y;
}
"""

bn_cpp = "torch::Tensor batch_norm_train(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"

bn_ext = load_inline(
    name="batch_norm_two_kernels",
    cpp_sources=bn_cpp,
    cuda_sources=bn_source,
    functions=["batch_norm_train"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return bn_ext.batch_norm_train(x, self.bn.weight, self.bn.bias, self.bn.eps)
