# fmt: off
"""A loss in two kernels over a scratch tensor.

row: B13, B14
task: mse-loss
policy: custom-only
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void partial(const float* a, const float* b, double* out, long n) {
    __shared__ double part[256];
    double sum = 0.0;
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) {
        double d = (double)a[i] - b[i];
        sum += d * d;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
__global__ void total(const double* part, float* out, int blocks, long n) {
    double sum = 0.0;
    for (int i = 0; i < blocks; i++) sum += part[i];
    out[0] = (float)(sum / n);
}

torch::Tensor mse(torch::Tensor a, torch::Tensor b) {
    const int blocks = 8;
    auto part = torch::empty({blocks}, a.options().dtype(torch::kFloat64));
    auto out = torch::empty({}, a.options());
    partial<<<blocks, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), part.data_ptr<double>(), a.numel());
    total<<<1, 1>>>(part.data_ptr<double>(), out.data_ptr<float>(), blocks, a.numel());
    return out;
}
"""
ext = load_inline(
    name="mse_ext", cpp_sources="torch::Tensor mse(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA, functions=["mse"],
)


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.mse(predictions.contiguous(), targets.contiguous())
