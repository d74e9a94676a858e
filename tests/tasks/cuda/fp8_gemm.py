# task: matmul-fp8
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cuda_fp8.h>
#include <cuda_bf16.h>
#define TILE 16

__global__ void fp8_block_gemm(const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, const float* sa, const float* sb,
                               __nv_bfloat16* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE + 1];
    __shared__ float Bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    int bcol = blockIdx.x * TILE + threadIdx.y;
    int kb = (K + 127) / 128;
    float total = 0.f, partial = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        int k = k0 + threadIdx.x;
        As[threadIdx.y][threadIdx.x] = (row < M && k < K) ? float(A[(size_t)row * K + k]) : 0.f;
        Bs[threadIdx.y][threadIdx.x] = (bcol < N && k < K) ? float(B[(size_t)bcol * K + k]) : 0.f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) partial += As[threadIdx.y][i] * Bs[threadIdx.x][i];
        __syncthreads();
        // promote to the main accumulator at the end of each 128-wide block
        if ((k0 + TILE) % 128 == 0 || k0 + TILE >= K) {
            if (row < M && col < N) total += partial * sa[row * kb + k0 / 128] * sb[(col / 128) * kb + k0 / 128];
            partial = 0.f;
        }
    }
    if (row < M && col < N) C[(size_t)row * N + col] = __float2bfloat16(total);
}

torch::Tensor fp8_gemm(torch::Tensor a, torch::Tensor w, torch::Tensor scale_a, torch::Tensor scale_w) {
    const int M = a.size(0), K = a.size(1), N = w.size(0);
    auto c = torch::empty({M, N}, torch::TensorOptions().dtype(torch::kBFloat16).device(a.device()));
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    fp8_block_gemm<<<grid, block>>>(
        (const __nv_fp8_e4m3*)a.data_ptr<c10::Float8_e4m3fn>(), (const __nv_fp8_e4m3*)w.data_ptr<c10::Float8_e4m3fn>(),
        scale_a.data_ptr<float>(), scale_w.data_ptr<float>(), (__nv_bfloat16*)c.data_ptr<at::BFloat16>(), M, N, K);
    return c;
}
"""
ext = load_inline(
    "fp8_block_gemm_ext",
    "torch::Tensor fp8_gemm(torch::Tensor a, torch::Tensor w, torch::Tensor scale_a, torch::Tensor scale_w);",
    src,
    functions=["fp8_gemm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext = ext

    def forward(self, a, w, scale_a, scale_w):
        return self.ext.fp8_gemm(
            a.contiguous(), w.contiguous(), scale_a.contiguous(), scale_w.contiguous()
        )
