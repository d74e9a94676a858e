# task: l2-norm
# The block is a template argument, chosen by a switch over the row.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
template <int BLOCK>
__global__ void normalise(const float* x, float* y, int cols) {
    __shared__ float part[BLOCK];
    const float* row = x + (long long)blockIdx.x * cols;
    float* out = y + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += BLOCK) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int k = BLOCK / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    const float norm = sqrtf(part[0]);
    for (int i = threadIdx.x; i < cols; i += BLOCK) out[i] = row[i] / norm;
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int cols = x.size(1);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    switch (cols > 4096 ? 2 : cols > 512 ? 1 : 0) {
        case 0: normalise<64><<<x.size(0), 64>>>(in, out, cols); break;
        case 1: normalise<128><<<x.size(0), 128>>>(in, out, cols); break;
        default: normalise<256><<<x.size(0), 256>>>(in, out, cols);
    }
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_block_size_as_template_argument",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
