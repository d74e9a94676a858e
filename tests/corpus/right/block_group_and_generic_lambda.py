# task: huber-loss
# Groups as `auto` parameters of a lambda; the block waits through the group.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void partial_losses(const float* p, const float* t, float* partial, int n) {
    __shared__ float lanes[32];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto add_up = [](auto group, float value) {
        for (int k = 16; k > 0; k >>= 1) value += group.shfl_xor(value, k);
        return value;
    };
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float d = fabsf(p[i] - t[i]);
        sum += d < 1.0f ? 0.5f * d * d : d - 0.5f;
    }
    sum = add_up(warp, sum);
    if (warp.thread_rank() == 0) lanes[threadIdx.x / 32] = sum;
    block.sync();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? lanes[threadIdx.x] : 0.0f;
        sum = add_up(warp, sum);
        if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    }
}

torch::Tensor run(torch::Tensor p, torch::Tensor t) {
    p = p.contiguous();
    t = t.contiguous();
    const int n = p.numel();
    const int blocks = std::min((n + 255) / 256, 1024);
    auto partial = torch::empty({blocks}, p.options());
    partial_losses<<<blocks, 256>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), partial.data_ptr<float>(), n);
    return partial.sum() / n;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor p, torch::Tensor t);"

extension = load_inline(
    name="right_block_group_and_generic_lambda",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, p, t):
        return extension.run(p, t)
