"""Argmax over a dim: reference-fixed kernel.

One thread for each result walks along the dim; neighbours walk side by side.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// One thread for each result, which walks along the dim that goes; its values lie `inner` apart. At each step
// neighbouring threads read neighbouring values, so the access is coalesced and no thread needs another's sum.
__global__ void reduce_kernel(
        const float* __restrict__ x, int64_t* __restrict__ y, int64_t n, int64_t inner, int64_t results) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= results) return;
    const float* __restrict__ from = x + i / inner * n * inner + i % inner;
    float best = from[0];
    int64_t at = 0;
    for (int64_t k = 1; k < n; ++k) {
        const float v = from[k * inner];
        if (v > best || (isnan(v) && !isnan(best))) {  // NaN wins, as in torch; of equal values the first
            best = v;
            at = k;
        }
    }
    y[i] = at;
}

torch::Tensor argmax_dim_forward(torch::Tensor x, int64_t dim, bool keepdim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "argmax_dim_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    if (dim < 0) dim += x.dim();  // -1 is the last one
    const int64_t n = x.size(dim);
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    auto shape = x.sizes().vec();
    if (keepdim) shape[dim] = 1;
    else shape.erase(shape.begin() + dim);
    auto y = torch::empty(shape, x.options().dtype(torch::kInt64));
    const int64_t results = y.numel();
    if (results == 0) return y;
    TORCH_CHECK(n > 0, "nothing to reduce");
    const int threads = 256;
    reduce_kernel<<<(unsigned)((results + threads - 1) / threads), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<int64_t>(), n, inner, results);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor argmax_dim_forward(torch::Tensor x, int64_t dim, bool keepdim);"

argmax_dim_extension = load_inline(
    name="argmax_dim_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["argmax_dim_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int = 1):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return argmax_dim_extension.argmax_dim_forward(x, self.dim, False)
