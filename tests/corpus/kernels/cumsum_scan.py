# task: cumsum
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

scan_cuda = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define SCAN_THREADS 512

// Hillis-Steele scan of one chunk at a time; `carry` holds the sum of the chunks before.
__global__ void cumsum_rows_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float buf[SCAN_THREADS];
    const int tid = threadIdx.x;
    const float* src = x + (size_t)blockIdx.x * cols;
    float* dst = y + (size_t)blockIdx.x * cols;
    float carry = 0.0f;

    for (int start = 0; start < cols; start += SCAN_THREADS) {
        const int i = start + tid;
        buf[tid] = i < cols ? src[i] : 0.0f;
        __syncthreads();
        for (int d = 1; d < SCAN_THREADS; d *= 2) {
            float add = 0.0f;
            if (tid >= d) add = buf[tid - d];
            __syncthreads();
            buf[tid] += add;
            __syncthreads();
        }
        if (i < cols) {
            dst[i] = buf[tid] + carry;
        }
        carry += buf[SCAN_THREADS - 1];
        __syncthreads();
    }
}

torch::Tensor cumsum_rows(torch::Tensor x) {
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    const int cols = in.size(-1);
    const int rows = in.numel() / cols;
    cumsum_rows_kernel<<<rows, SCAN_THREADS>>>(in.data_ptr<float>(), out.data_ptr<float>(), cols);
    return out;
}
"""

scan_cpp = "torch::Tensor cumsum_rows(torch::Tensor x);"

scan = load_inline(
    name="scan_ext", cpp_sources=scan_cpp, cuda_sources=scan_cuda, functions=["cumsum_rows"]
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved = x.movedim(self.dim, -1)
        return scan.cumsum_rows(moved).movedim(-1, self.dim)
