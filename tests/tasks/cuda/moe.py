# task: moe-matmul
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <vector>

// tokens are sorted by expert first; each block takes one (token, expert) pair
__global__ void count_kernel(const int64_t* experts, int* counts, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) atomicAdd(&counts[experts[i]], 1);
}
__global__ void scatter_kernel(const int64_t* experts, const int* starts, int* cursor, int* sorted, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    int e = experts[i];
    int at = starts[e] + atomicAdd(&cursor[e], 1);
    sorted[at] = i;
}
__global__ void grouped_gemm_kernel(const float* x, const int64_t* experts, const float* weights, const float* w,
                                    const int* sorted, float* y, int k, int D, int F) {
    extern __shared__ float xs[];
    int pair = sorted[blockIdx.y];
    int token = pair / k;
    for (int d = threadIdx.x; d < D; d += blockDim.x) xs[d] = x[(size_t)token * D + d];
    __syncthreads();
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= F) return;
    const float* we = w + (size_t)experts[pair] * D * F;
    float acc = 0.f;
    for (int d = 0; d < D; ++d) acc = fmaf(xs[d], we[(size_t)d * F + f], acc);
    atomicAdd(&y[(size_t)token * F + f], weights[pair] * acc);
}

torch::Tensor moe_forward(torch::Tensor x, torch::Tensor experts, torch::Tensor weights, torch::Tensor w) {
    int T = x.size(0), D = x.size(1), E = w.size(0), F = w.size(2), k = experts.size(1), pairs = T * k;
    auto ints = torch::TensorOptions().dtype(torch::kInt32).device(x.device());
    auto counts = torch::zeros({E}, ints), cursor = torch::zeros({E}, ints), sorted = torch::empty({pairs}, ints);
    count_kernel<<<(pairs + 127) / 128, 128>>>(experts.data_ptr<int64_t>(), counts.data_ptr<int>(), pairs);
    auto starts = (counts.cumsum(0) - counts).to(torch::kInt32);
    scatter_kernel<<<(pairs + 127) / 128, 128>>>(experts.data_ptr<int64_t>(), starts.data_ptr<int>(), cursor.data_ptr<int>(), sorted.data_ptr<int>(), pairs);
    auto y = torch::zeros({T, F}, x.options());
    dim3 grid((F + 127) / 128, pairs);
    grouped_gemm_kernel<<<grid, 128, D * sizeof(float)>>>(x.data_ptr<float>(), experts.data_ptr<int64_t>(), weights.data_ptr<float>(),
        w.data_ptr<float>(), sorted.data_ptr<int>(), y.data_ptr<float>(), k, D, F);
    return y;
}
"""
moe = load_inline(
    name="moe_grouped_gemm",
    cpp_sources="torch::Tensor moe_forward(torch::Tensor x, torch::Tensor experts, torch::Tensor weights, torch::Tensor w);",
    cuda_sources=src,
    functions=["moe_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x, experts, weights, w):
        return moe.moe_forward(
            x.contiguous(), experts.contiguous(), weights.contiguous(), w.contiguous()
        )
