# task: layer-norm
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256
#define FULL_MASK 0xffffffffu

__inline__ __device__ float warp_sum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL_MASK, v, offset);
    return v;
}

__inline__ __device__ float block_sum(float v) {
    static __shared__ float partial[32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = (threadIdx.x < blockDim.x / 32) ? partial[lane] : 0.0f;
    if (warp == 0) v = warp_sum(v);
    return v;
}

__global__ void layer_norm_kernel(const float* __restrict__ x,
                                  const float* __restrict__ gamma,
                                  const float* __restrict__ beta,
                                  float* __restrict__ y,
                                  int n, float eps) {
    __shared__ float s_mean;
    __shared__ float s_rstd;
    const float* row = x + static_cast<size_t>(blockIdx.x) * n;
    float* out = y + static_cast<size_t>(blockIdx.x) * n;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) s_mean = sum / n;
    __syncthreads();
    const float mean = s_mean;

    float sq = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float d = row[i] - mean;
        sq += d * d;
    }
    sq = block_sum(sq);
    if (threadIdx.x == 0) s_rstd = rsqrtf(sq / n + eps);
    __syncthreads();
    const float rstd = s_rstd;

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = (row[i] - mean) * rstd * gamma[i] + beta[i];
}

torch::Tensor layer_norm_forward(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    x = x.contiguous();
    gamma = gamma.contiguous();
    beta = beta.contiguous();
    auto y = torch::empty_like(x);
    const int n = gamma.numel();
    const int rows = x.numel() / n;
    layer_norm_kernel<<<rows, THREADS>>>(
        x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
        y.data_ptr<float>(), n, static_cast<float>(eps));
    return y;
}
'''

declaration = (
    "torch::Tensor layer_norm_forward(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);"
)

layer_norm_lib = load_inline(
    name="layer_norm_lib",
    cpp_sources=declaration,
    cuda_sources=source,
    functions=["layer_norm_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm_lib.layer_norm_forward(x, self.ln.weight, self.ln.bias, self.ln.eps)
