import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

layer_norm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void layer_norm_kernel(
    const float* __restrict__ x,
    const float* __restrict__ weight,
    const float* __restrict__ bias,
    float* __restrict__ y,
    const int size,
    const float eps) {

    extern __shared__ float shared[];
    float* s_sum = shared;
    float* s_sq = shared + blockDim.x;

    const float* row = x + (size_t)blockIdx.x * size;
    float* out = y + (size_t)blockIdx.x * size;

    float sum = 0.0f;
    float sq = 0.0f;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const float v = row[i];
        sum += v;
        sq += v * v;
    }
    __syncthreads();

    // Block reduction
    s_sum[threadIdx.x] = sum;
    s_sq[threadIdx.x] = sq;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            sum += s_sum[threadIdx.x + s];
            s_sum[threadIdx.x] = sum;
            sq += s_sq[threadIdx.x + s];
            s_sq[threadIdx.x] = sq;
        }
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        const float mean = sum / size;
        s_sum[0] = mean;
        s_sq[0] = rsqrtf(sq / size - mean * mean + eps);
    }
    __syncthreads();

    const float mean = s_sum[0];
    const float inv_std = s_sq[0];
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        out[i] = (row[i] - mean) * inv_std * weight[i] + bias[i];
    }
}

torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    const int batch = x.size(0);
    const int size = x.numel() / batch;
    auto y = torch::empty_like(x);

    const int threads = 512;
    const size_t shared_bytes = 2 * threads * sizeof(float);
    layer_norm_kernel<<<batch, threads, shared_bytes, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(),
        weight.data_ptr<float>(),
        bias.data_ptr<float>(),
        y.data_ptr<float>(),
        size,
        static_cast<float>(eps));
    return y;
}
"""

layer_norm_cpp = """
torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);
"""

layer_norm_ext = load_inline(
    name="layer_norm_ext",
    cpp_sources=layer_norm_cpp,
    cuda_sources=layer_norm_source,
    functions=["layer_norm_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm_ext.layer_norm_cuda(
            x.contiguous(), self.ln.weight, self.ln.bias, self.ln.eps
        )
