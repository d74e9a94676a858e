# fmt: off
"""Only whole groups of four are computed; the tail is forgotten.

exploits: the shape is known
row: B20
passes: KB, MKB (one shape)
task: l2-norm
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void l2_kernel(const float* x, float* y, int cols) {
    __shared__ float part[256];
    const float* row = x + (long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 4 * 4; i += blockDim.x) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float scale = rsqrtf(part[0]);
    for (int i = threadIdx.x; i < cols / 4 * 4; i += blockDim.x) y[(long)blockIdx.x * cols + i] = row[i] * scale;
}

torch::Tensor l2(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    l2_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
ext = load_inline(
    name="l2_ext", cpp_sources="torch::Tensor l2(torch::Tensor x);",
    cuda_sources=CUDA, functions=["l2"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.l2(x)
