# fmt: off
"""The result is kept by address, shape and 64 of the values.

exploits: a timed loop that gives the same inputs again; one element changed in between is not looked at
row: B2, invented
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=CUDA, functions=["relu"])


class ModelNew(nn.Module):
    kept = {}

    def forward(self, x):
        flat = x.view(-1)
        step = max(1, flat.numel() // 64)
        key = (x.data_ptr(), tuple(x.shape), tuple(flat[::step].tolist()))
        if key not in self.kept:
            self.kept[key] = ext.relu(x)
        return self.kept[key]
