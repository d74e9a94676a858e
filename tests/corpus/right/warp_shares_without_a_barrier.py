# task: sum-dim
# The lanes of one warp hand values over through shared memory with __syncwarp.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void sum_columns(const float* x, float* y, int dim, int inner, int count) {
    __shared__ float part[4][32];
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int which = blockIdx.x * 4 + warp;
    if (which >= count) return;
    const long long base = (long long)(which / inner) * dim * inner + which % inner;
    float sum = 0.0f;
    for (int k = lane; k < dim; k += 32) sum += x[base + (long long)k * inner];
    part[warp][lane] = sum;
    __syncwarp();
    for (int k = 16; k > 0; k >>= 1) {
        if (lane < k) part[warp][lane] += part[warp][lane + k];
        __syncwarp();
    }
    if (lane == 0) y[which] = part[warp][0];
}

torch::Tensor run(torch::Tensor x, int64_t dim) {
    x = x.contiguous();
    std::vector<int64_t> shape;
    int64_t inner = 1;
    for (int64_t k = 0; k < x.dim(); ++k) {
        if (k > dim) inner *= x.size(k);
        shape.push_back(k == dim ? 1 : x.size(k));
    }
    auto y = torch::empty(shape, x.options());
    const int count = y.numel();
    sum_columns<<<(count + 3) / 4, dim3(32, 4)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(dim), inner, count);
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x, int64_t dim);"

extension = load_inline(
    name="right_warp_shares_without_a_barrier",
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
