# task: l1-loss
# A kernel of its own fills what the next one adds to.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void fill(float* data, int n, float value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = value;
}

__global__ void add_differences(const float* p, const float* t, float* sums, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += fabsf(p[i] - t[i]);
    }
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(0xffffffff, sum, k);
    if ((threadIdx.x & 31) == 0) atomicAdd(sums + (blockIdx.x & 31), sum);
}

static void clear(torch::Tensor& buffer) {
    const int n = buffer.numel();
    fill<<<(n + 63) / 64, 64>>>(buffer.data_ptr<float>(), n, 0.0f);
}

torch::Tensor run(torch::Tensor p, torch::Tensor t) {
    p = p.contiguous();
    t = t.contiguous();
    const int n = p.numel();
    torch::Tensor sums = torch::empty({32}, p.options());
    clear(sums);
    add_differences<<<std::min((n + 255) / 256, 512), 256>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), sums.data_ptr<float>(), n);
    return sums.sum() / n;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor p, torch::Tensor t);"

extension = load_inline(
    name="right_buffer_filled_by_kernel",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, p, t):
        return extension.run(p, t)
