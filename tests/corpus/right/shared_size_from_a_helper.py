# task: softmax
# The bytes of dynamic shared memory come from a function with a struct of sizes.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

struct Layout {
    int threads;
    int values;
};

static Layout layout_for(int cols) {
    Layout layout;
    layout.threads = cols >= 1024 ? 256 : 64;
    layout.values = layout.threads;
    return layout;
}

static size_t shared_bytes(const Layout& layout) {
    return sizeof(float) * static_cast<size_t>(layout.values);
}

__global__ void softmax_rows(const float* x, float* y, int cols) {
    extern __shared__ float part[];
    const float* row = x + (long long)blockIdx.x * cols;
    float* out = y + (long long)blockIdx.x * cols;
    const int tid = threadIdx.x;
    float best = -FLT_MAX;
    for (int i = tid; i < cols; i += blockDim.x) best = fmaxf(best, row[i]);
    part[tid] = best;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) part[tid] = fmaxf(part[tid], part[tid + k]);
        __syncthreads();
    }
    best = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < cols; i += blockDim.x) sum += expf(row[i] - best);
    part[tid] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) part[tid] += part[tid + k];
        __syncthreads();
    }
    const float scale = 1.0f / part[0];
    for (int i = tid; i < cols; i += blockDim.x) out[i] = expf(row[i] - best) * scale;
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const Layout layout = layout_for(x.size(1));
    softmax_rows<<<x.size(0), layout.threads, shared_bytes(layout)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_shared_size_from_a_helper",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
