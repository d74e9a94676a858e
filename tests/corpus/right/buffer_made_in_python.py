# task: frobenius-norm
# Python makes the zeros and hands them over; the kernels add to them and read them.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void add_squares(const float* x, float* total, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i] * x[i];
    }
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(0xffffffff, sum, k);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, sum);
}

__global__ void divide(const float* x, const float* total, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / sqrtf(*total);
}

void square_sum(torch::Tensor x, torch::Tensor total) {
    const int n = x.numel();
    add_squares<<<std::min((n + 255) / 256, 512), 256>>>(
        x.data_ptr<float>(), total.data_ptr<float>(), n);
}

torch::Tensor divide_by_root(torch::Tensor x, torch::Tensor total) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    divide<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "void square_sum(torch::Tensor x, torch::Tensor total); torch::Tensor divide_by_root(torch::Tensor x, torch::Tensor total);"

extension = load_inline(
    name="right_buffer_made_in_python",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["square_sum", "divide_by_root"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        total = torch.zeros(1, device=x.device, dtype=x.dtype)
        extension.square_sum(x, total)
        return extension.divide_by_root(x, total)
