# task: sum-dim
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sum_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

// Seen as [outer, length, inner]: one thread sums one column of the middle dimension.
__global__ void sum_dim_kernel(const float* __restrict__ input, float* __restrict__ result,
                               int outer, int length, int inner) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= outer * inner) {
        return;
    }
    int o = column / inner;
    int i = column % inner;
    const float* p = input + ((size_t)o * length) * inner + i;
    float total = 0.0f;
    for (int k = 0; k < length; k++) {
        total += p[(size_t)k * inner];
    }
    result[column] = total;
}

torch::Tensor sum_dim(torch::Tensor input, int64_t dim) {
    auto x = input.contiguous();
    if (dim < 0) dim += x.dim();
    int outer = 1;
    for (int d = 0; d < dim; ++d) outer *= x.size(d);
    int inner = 1;
    for (int d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    int length = x.size(dim);

    auto sizes = x.sizes().vec();
    sizes[dim] = 1;
    auto result = torch::empty(sizes, x.options());
    const int threads = 256;
    const int blocks = (outer * inner + threads - 1) / threads;
    sum_dim_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), result.data_ptr<float>(), outer, length, inner);
    return result;
}
"""

sum_declarations = """
torch::Tensor sum_dim(torch::Tensor input, int64_t dim);
"""

sum_ext = load_inline(
    name="sum_over_dim",
    cpp_sources=[sum_declarations],
    cuda_sources=[sum_source],
    functions=["sum_dim"],
    verbose=False,
    extra_cuda_cflags=["-O2"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum_ext.sum_dim(x, self.dim)
