# task: mean-dim
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mean_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 128

// One block per result. Every thread stores the same factor: whichever store comes last, the value is one.
__global__ void mean_kernel(const float* __restrict__ x, float* __restrict__ y,
                            const int length, const int inner) {
    __shared__ float factor;
    __shared__ float parts[THREADS];
    __shared__ int marks[THREADS];
    const int tid = threadIdx.x;
    const int outer = blockIdx.x / inner;
    const float* column = x + (size_t)outer * length * inner + blockIdx.x % inner;

    factor = 1.0f / length;
    marks[tid] = 0;

    float sum = 0.0f;
    for (int i = tid; i < length; i += THREADS) {
        sum += column[(size_t)i * inner];
    }
    parts[tid] = sum;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step >>= 1) {
        if (tid < step) {
            parts[tid] += parts[tid + step];
        }
        __syncthreads();
    }
    if (marks[tid] != 0) {
        __threadfence();
    }
    if (tid == 0) {
        y[blockIdx.x] = parts[0] * factor;
    }
}

torch::Tensor mean_cuda(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.dim() > 0, "x must be on the GPU");
    auto in = x.contiguous();
    dim = dim < 0 ? dim + in.dim() : dim;
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < in.dim(); ++d) inner *= in.size(d);
    auto shape = in.sizes().vec();
    shape.erase(shape.begin() + dim);
    auto y = torch::empty(shape, in.options());
    const int blocks = y.numel();
    mean_kernel<<<blocks, THREADS>>>(in.data_ptr<float>(), y.data_ptr<float>(),
                                     (int)in.size(dim), (int)inner);
    return y;
}
"""

mean_ext = load_inline(
    name="uniform_factor_mean",
    cpp_sources="torch::Tensor mean_cuda(torch::Tensor x, int64_t dim);",
    cuda_sources=mean_source,
    functions=["mean_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mean_ext.mean_cuda(x, self.dim)
