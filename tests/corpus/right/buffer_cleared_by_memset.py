# task: mse-loss
# The sum starts in memory from torch::empty that cudaMemsetAsync clears.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void add_squares(const float* p, const float* t, float* total, int n, float scale) {
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float d = p[i] - t[i];
        sum += d * d;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0] * scale);
}

torch::Tensor run(torch::Tensor p, torch::Tensor t) {
    p = p.contiguous();
    t = t.contiguous();
    const int n = p.numel();
    auto total = torch::empty({}, p.options());
    float* sum = total.data_ptr<float>();
    cudaMemsetAsync(sum, 0, sizeof(float));
    add_squares<<<std::min((n + 255) / 256, 512), 256>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), sum, n, 1.0f / n);
    return total;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor p, torch::Tensor t);"

extension = load_inline(
    name="right_buffer_cleared_by_memset",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, p, t):
        return extension.run(p, t)
