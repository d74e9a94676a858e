"""GELU (exact, by erf): reference-fixed kernel.

Each value is read once and written once, four at a time where the address allows; there is
nothing else to save, so the time is the time of moving the bytes.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cmath>

__device__ __forceinline__ float apply(float v) {
    return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
}

// Four values a thread where the address allows 16-byte loads; the loop lets any grid cover any n.
__global__ void vector_kernel(const float4* __restrict__ x, float4* __restrict__ y, int64_t n4) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += stride) {
        float4 v = x[i];
        v.x = apply(v.x);
        v.y = apply(v.y);
        v.z = apply(v.z);
        v.w = apply(v.w);
        y[i] = v;
    }
}

// The last few values, and tensors that don't begin at a 16-byte boundary.
__global__ void scalar_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t begin, int64_t n) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = begin + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = apply(x[i]);
}

static unsigned blocks_for(int64_t n) {
    const int64_t blocks = (n + 255) / 256;
    return (unsigned)(blocks < (1 << 20) ? blocks : (1 << 20));
}

torch::Tensor gelu_forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "gelu_forward takes a float32 CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    const auto stream = at::cuda::getCurrentCUDAStream();
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    const bool aligned = ((uintptr_t)from | (uintptr_t)to) % 16 == 0;
    const int64_t n4 = aligned ? n / 4 : 0;
    if (n4 > 0)
        vector_kernel<<<blocks_for(n4), 256, 0, stream>>>((const float4*)from, (float4*)to, n4);
    if (n4 * 4 < n)
        scalar_kernel<<<blocks_for(n - n4 * 4), 256, 0, stream>>>(from, to, n4 * 4, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

CPP = "torch::Tensor gelu_forward(torch::Tensor x);"

gelu_extension = load_inline(
    name="gelu_extension",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["gelu_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return gelu_extension.gelu_forward(x)
