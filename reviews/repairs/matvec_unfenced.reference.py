"""Matrix-vector product: reference-fixed kernel.

One block for each row; the matrix is read once, and the time is the time of reading it.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int kThreads = 256;

// All threads of the block get the sum of their values: in each step half of the threads add what the other half
// holds, until one value is left. Shared memory is how the threads of a block see each other's values.
__device__ float block_sum(float mine) {
    __shared__ float values[kThreads];
    values[threadIdx.x] = mine;
    __syncthreads();  // every value is there before any is read
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();  // outside of the `if`: all threads must reach it
    }
    const float result = values[0];
    __syncthreads();  // every thread has read it before the next call writes
    return result;
}

// One block for each row: neighbouring threads take neighbouring values of the matrix, so the access is coalesced. The
// vector is read by every block, and stays in the cache.
__global__ void matvec_kernel(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    const float* __restrict__ row = a + blockIdx.x * n;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += row[i] * x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

torch::Tensor matrix_vector_forward(torch::Tensor a, torch::Tensor x) {
    TORCH_CHECK(a.is_cuda() && a.scalar_type() == torch::kFloat32 && x.scalar_type() == torch::kFloat32,
                "matrix_vector_forward takes float32 CUDA tensors");
    TORCH_CHECK(a.dim() == 2 && a.size(1) == x.numel(), "inner sizes differ");
    a = a.contiguous();
    x = x.contiguous();
    auto y = torch::empty({a.size(0), 1}, a.options());
    if (y.numel() == 0) return y;
    matvec_kernel<<<(unsigned)a.size(0), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), x.data_ptr<float>(), y.data_ptr<float>(), a.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor matrix_vector_forward(torch::Tensor a, torch::Tensor x);"

matrix_vector_extension = load_inline(
    name="matrix_vector_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["matrix_vector_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return matrix_vector_extension.matrix_vector_forward(A, B)
