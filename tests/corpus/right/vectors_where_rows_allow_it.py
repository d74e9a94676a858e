# task: matrix-vector
# Rows are read as vectors only where a row is made of whole ones.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void dot_rows(const float* a, const float* v, float* out, int cols, int vectors) {
    const float* row = a + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    const float4* row4 = reinterpret_cast<const float4*>(row);
    const float4* v4 = reinterpret_cast<const float4*>(v);
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        const float4 p = row4[i], q = v4[i];
        sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    for (int i = vectors * 4 + threadIdx.x; i < cols; i += blockDim.x) sum += row[i] * v[i];
    __shared__ float part[8];
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < 8; ++w) total += part[w];
        out[blockIdx.x] = total;
    }
}

torch::Tensor run(torch::Tensor a, torch::Tensor v) {
    a = a.contiguous();
    v = v.contiguous();
    const int rows = a.size(0), cols = a.size(1);
    auto out = torch::empty({rows, 1}, a.options());
    const int vectors = cols % 4 == 0 ? cols / 4 : 0;
    dot_rows<<<rows, 256>>>(
        a.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), cols, vectors);
    return out;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor a, torch::Tensor v);"

extension = load_inline(
    name="right_vectors_where_rows_allow_it",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, a, v):
        return extension.run(a, v)
