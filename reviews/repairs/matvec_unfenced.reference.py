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

// One block for each row: the matrix is read once, the vector comes from L2 after the first rows.
__global__ void __launch_bounds__(512) matvec_kernel(
        const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int64_t k) {
    __shared__ float partial[32];
    const float* __restrict__ row = a + blockIdx.x * k;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    float sum = 0.0f;
    if (k % 4 == 0 && ((uintptr_t)a | (uintptr_t)x) % 16 == 0) {  // 16 bytes at once, on every row
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        #pragma unroll 8
        for (int64_t i = threadIdx.x; i < k / 4; i += blockDim.x) {
            const float4 v = __ldg((const float4*)row + i);
            const float4 w = ((const float4*)x)[i];
            four.x = fmaf(v.x, w.x, four.x);
            four.y = fmaf(v.y, w.y, four.y);
            four.z = fmaf(v.z, w.z, four.z);
            four.w = fmaf(v.w, w.w, four.w);
        }
        sum = (four.x + four.y) + (four.z + four.w);
    } else {
        #pragma unroll 8
        for (int64_t i = threadIdx.x; i < k; i += blockDim.x) sum = fmaf(row[i], x[i], sum);
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < (int)(blockDim.x >> 5) ? partial[lane] : 0.0f;
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == 0) y[blockIdx.x] = sum;
    }
}

torch::Tensor matrix_vector_forward(torch::Tensor a, torch::Tensor x) {
    TORCH_CHECK(a.is_cuda() && x.is_cuda() && a.scalar_type() == torch::kFloat32 && x.scalar_type() == torch::kFloat32,
                "matrix_vector_forward takes float32 CUDA tensors");
    TORCH_CHECK(a.dim() == 2 && a.size(1) == x.size(0), "inner sizes differ");
    a = a.contiguous();
    x = x.contiguous();
    std::vector<int64_t> shape = x.sizes().vec();
    shape[0] = a.size(0);
    auto y = torch::empty(shape, a.options());
    if (y.numel() == 0) return y;
    matvec_kernel<<<(unsigned)a.size(0), 512, 0, at::cuda::getCurrentCUDAStream()>>>(
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
