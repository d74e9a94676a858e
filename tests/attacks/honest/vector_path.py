# fmt: off
"""Four at a time where address and size allow, one at a time elsewhere.

row: B20, B22
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void four(const float4* x, float4* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}
__global__ void one(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    if (n % 4 == 0 && reinterpret_cast<size_t>(in) % 16 == 0)
        four<<<(n / 4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out), n / 4);
    else
        one<<<(n + 255) / 256, 256>>>(in, out, n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
