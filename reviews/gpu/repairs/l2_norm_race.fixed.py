import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

l2_norm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void l2_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int dim) {
    __shared__ float sums[512];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * dim;
    float* out = y + (size_t)blockIdx.x * dim;

    float acc = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        const float v = row[i];
        acc += v * v;
    }
    sums[tid] = acc;
    __syncthreads();

    // Halve the number of active threads in each step. All threads run in lockstep,
    // so the barrier is only needed once at the end.
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    __syncthreads();

    const float inv = rsqrtf(sums[0]);
    for (int i = tid; i < dim; i += blockDim.x) {
        out[i] = row[i] * inv;
    }
}

torch::Tensor l2_norm_cuda(torch::Tensor x) {
    auto in = x.contiguous();
    auto y = torch::empty_like(in);
    l2_norm_kernel<<<in.size(0), 512>>>(in.data_ptr<float>(), y.data_ptr<float>(), in.size(1));
    return y;
}
"""

l2_norm = load_inline(
    name="l2_norm_tree",
    cpp_sources="torch::Tensor l2_norm_cuda(torch::Tensor x);",
    cuda_sources=l2_norm_source,
    functions=["l2_norm_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.l2_norm = l2_norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.l2_norm.l2_norm_cuda(x)
