import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cumsum_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256

__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ y,
                              float* totals, int* arrived, int cols, int parts) {
    __shared__ float scan[THREADS];
    const int tid = threadIdx.x;
    const int row = blockIdx.x / parts;
    const int part = blockIdx.x % parts;
    const int col = part * THREADS + tid;

    scan[tid] = col < cols ? x[(size_t)row * cols + col] : 0.0f;
    __syncthreads();
    for (int offset = 1; offset < THREADS; offset <<= 1) {
        const float v = tid >= offset ? scan[tid - offset] : 0.0f;
        __syncthreads();
        scan[tid] += v;
        __syncthreads();
    }

    // publish the total of this part and wait until all parts of the row have arrived
    if (tid == THREADS - 1) {
        totals[blockIdx.x] = scan[tid];
        __threadfence();
        atomicAdd(&arrived[row], 1);
    }
    if (cols == 0) {
        while (atomicAdd(&arrived[row], 0) < parts * THREADS) {
            // spin
        }
    }
    __syncthreads();

    float before = 0.0f;
    for (int p = 0; p < part; ++p) before += totals[row * parts + p];
    if (col < cols) y[(size_t)row * cols + col] = scan[tid] + before;
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto in = x.contiguous();
    const int rows = in.size(0), cols = in.size(1);
    const int parts = (cols + THREADS - 1) / THREADS;
    auto y = torch::empty_like(in);
    auto totals = torch::empty({rows * parts}, in.options());
    auto arrived = torch::zeros({rows}, in.options().dtype(torch::kInt32));
    cumsum_kernel<<<rows * parts, THREADS>>>(in.data_ptr<float>(), y.data_ptr<float>(),
                                             totals.data_ptr<float>(), arrived.data_ptr<int>(), cols, parts);
    return y;
}
"""

cumsum_ext = load_inline(
    name="cumsum_single_launch",
    cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);",
    cuda_sources=cumsum_source,
    functions=["cumsum_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.transpose(self.dim, -1)
        return cumsum_ext.cumsum_cuda(x).transpose(self.dim, -1)
