# task: mean-dim
# A whole block takes the branch with the barriers, or none of its threads.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void mean_columns(
    const float* x, float* y, int outer, int dim, int inner, int tiles) {
    __shared__ float part[8][33];
    const int o = blockIdx.x / tiles;
    const int column = (blockIdx.x % tiles) * 32 + threadIdx.x;
    const bool staged = dim > 8;
    float sum = 0.0f;
    if (column < inner) {
        for (int k = threadIdx.y; k < dim; k += 8) {
            sum += x[((long long)o * dim + k) * inner + column];
        }
    }
    if (staged) {
        part[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0) {
            sum = 0.0f;
            for (int k = 0; k < 8; ++k) sum += part[k][threadIdx.x];
        }
    } else if (threadIdx.y == 0 && column < inner) {
        sum = 0.0f;
        for (int k = 0; k < dim; ++k) sum += x[((long long)o * dim + k) * inner + column];
    }
    if (threadIdx.y == 0 && column < inner) y[(long long)o * inner + column] = sum / dim;
}

torch::Tensor run(torch::Tensor x, int64_t dim) {
    x = x.contiguous();
    std::vector<int64_t> shape;
    int64_t outer = 1, inner = 1;
    for (int64_t k = 0; k < x.dim(); ++k) {
        if (k < dim) outer *= x.size(k);
        if (k > dim) inner *= x.size(k);
        if (k != dim) shape.push_back(x.size(k));
    }
    auto y = torch::empty(shape, x.options());
    const int tiles = (inner + 31) / 32;
    mean_columns<<<outer * tiles, dim3(32, 8)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), outer, x.size(dim), inner, tiles);
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x, int64_t dim);"

extension = load_inline(
    name="right_barrier_in_a_uniform_branch",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return extension.run(x, self.dim)
