"""Cumulative sum: reference-fixed kernel.

One block for each row, a piece of it at a time: scanned in shared memory, what came before carried on. Along a
dim other than the last, one thread for each column.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;
constexpr float kStart = 0.0f;  // changes nothing when it is joined in

// Along the last dim: one block for each row, which it takes in pieces of one value a thread.
// Neighbouring threads take neighbouring values, so the access is coalesced.
__global__ void row_kernel(
        const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    __shared__ float values[kThreads];
    const int t = threadIdx.x;
    const int64_t row = blockIdx.x * n;
    float carry = kStart;  // the result of all pieces so far
    for (int64_t first = 0; first < n; first += kThreads) {
        const int64_t i = first + t;
        const int64_t at = row + i;
        values[t] = i < n ? x[at] : kStart;
        __syncthreads();
        // After the step of some width each value has taken in 2 * width neighbours (Hillis and Steele): 8 steps for 256
        // values, where a loop over all of them would take 255.
        for (int width = 1; width < kThreads; width *= 2) {
            const float before = t >= width ? values[t - width] : kStart;
            __syncthreads();  // all have read before any writes
            values[t] = before + values[t];
            __syncthreads();  // and all have written before the next step reads
        }
        if (i < n) y[at] = carry + values[t];
        carry = carry + values[kThreads - 1];
        __syncthreads();  // all have read the piece's result before the next piece overwrites it
    }
}

// Along another dim: one thread for each column, whose values lie `inner` apart. At each step neighbouring threads take
// neighbouring values, so the access is coalesced and no thread needs another's result.
__global__ void column_kernel(
        const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t inner, int64_t columns) {
    const int64_t column = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (column >= columns) return;
    float total = kStart;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = column / inner * n * inner + column % inner + i * inner;
        total = total + x[at];
        y[at] = total;
    }
}

torch::Tensor cumsum_forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "cumsum_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    if (dim < 0) dim += x.dim();  // -1 is the last one
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t n = x.size(dim), columns = x.numel() / n;
    int64_t inner = 1;  // values between one of a column and its next
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    const auto stream = at::cuda::getCurrentCUDAStream();
    if (inner == 1)
        row_kernel<<<(unsigned)columns, kThreads, 0, stream>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), n);
    else
        column_kernel<<<(unsigned)((columns + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), n, inner, columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor cumsum_forward(torch::Tensor x, int64_t dim);"

cumsum_extension = load_inline(
    name="cumsum_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["cumsum_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return cumsum_extension.cumsum_forward(x, self.dim)
