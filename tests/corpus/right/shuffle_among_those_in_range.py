# task: kl-div-loss
# The mask of the exchange is made by those lanes that take part.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void divergences(const float* p, const float* t, float* rows, int cols) {
    const float* pr = p + (long long)blockIdx.x * cols;
    const float* tr = t + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float target = tr[i];
        if (target > 0.0f) sum += target * (logf(target) - logf(pr[i]));
    }
    __shared__ float part[4];
    const int warps = blockDim.x / 32;
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    const unsigned first = __ballot_sync(0xffffffff, threadIdx.x < warps);
    if (threadIdx.x < warps) {
        sum = part[threadIdx.x];
        for (int k = warps / 2; k > 0; k >>= 1) sum += __shfl_down_sync(first, sum, k);
        if (threadIdx.x == 0) rows[blockIdx.x] = sum;
    }
}

torch::Tensor run(torch::Tensor p, torch::Tensor t) {
    p = p.contiguous();
    t = t.contiguous();
    auto rows = torch::empty({p.size(0)}, p.options());
    divergences<<<p.size(0), 128>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), rows.data_ptr<float>(), p.size(1));
    return rows.sum() / p.size(0);
}
"""

cpp_source = "torch::Tensor run(torch::Tensor p, torch::Tensor t);"

extension = load_inline(
    name="right_shuffle_among_those_in_range",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, p, t):
        return extension.run(p, t)
