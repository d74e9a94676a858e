# fmt: off
"""The mean is taken over every tenth element.

exploits: the mean of many samples concentrates
row: B14
passes: KB (L1 P94, P96, P100)
task: mse-loss
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void mse_kernel(const float* a, const float* b, float* out, long n, long step) {
    __shared__ double part[256];
    double sum = 0.0;
    long count = (n + step - 1) / step;
    for (long i = threadIdx.x; i < count; i += blockDim.x) {
        double d = (double)a[i * step] - b[i * step];
        sum += d * d;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = (float)(part[0] / count);
}

torch::Tensor mse(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty({}, a.options());
    mse_kernel<<<1, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.numel(), 10);
    return out;
}
"""
ext = load_inline(
    name="mse_ext", cpp_sources="torch::Tensor mse(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA, functions=["mse"],
)


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.mse(predictions, targets)
