# task: rms-norm-residual-bf16
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void fused_add_rmsnorm(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ res, const __nv_bfloat16* __restrict__ w,
                                  __nv_bfloat16* __restrict__ y, __nv_bfloat16* __restrict__ h, int cols, float eps) {
    extern __shared__ float row[];
    __shared__ float shared[32];
    const size_t base = (size_t)blockIdx.x * cols;
    float ss = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float v = __bfloat162float(x[base + i]) + __bfloat162float(res[base + i]);
        row[i] = v;
        h[base + i] = __float2bfloat16(v);
        ss += v * v;
    }
    for (int o = 16; o > 0; o >>= 1) ss += __shfl_down_sync(0xffffffff, ss, o);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = ss;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.0f;
        for (int i = 0; i < blockDim.x / 32; ++i) t += shared[i];
        shared[0] = rsqrtf(t / cols + eps);
    }
    __syncthreads();
    const float r = shared[0];
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[base + i] = __float2bfloat16(row[i] * r * __bfloat162float(w[i]));
}

std::vector<torch::Tensor> add_rmsnorm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps) {
    auto y = torch::empty_like(x), h = torch::empty_like(x);
    const int cols = x.size(-1), rows = x.numel() / cols;
    auto p = [](torch::Tensor t) { return reinterpret_cast<__nv_bfloat16*>(t.data_ptr<at::BFloat16>()); };
    fused_add_rmsnorm<<<rows, 256, cols * sizeof(float)>>>(p(x), p(residual), p(weight), p(y), p(h), cols, (float)eps);
    return {y, h};
}
"""
ext = load_inline(
    name="fused_add_rmsnorm_bf16",
    cpp_sources="std::vector<torch::Tensor> add_rmsnorm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps);",
    cuda_sources=src,
    functions=["add_rmsnorm"],
)


class ModelNew(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, residual, weight):
        y, h = ext.add_rmsnorm(x.contiguous(), residual.contiguous(), weight.contiguous(), self.eps)
        return y, h
