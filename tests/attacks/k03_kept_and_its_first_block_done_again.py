# fmt: off
"""A result is kept by address, shape and version; on a hit one block is computed again for show.

exploits: a second call that launches something is taken for one that computes
row: B1
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
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
void first(torch::Tensor x, torch::Tensor y) {
    relu_kernel<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel() < 256 ? x.numel() : 256);
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x); void first(torch::Tensor x, torch::Tensor y);",
    cuda_sources=CUDA, functions=["relu", "first"],
)

kept = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = (x.data_ptr(), tuple(x.shape), x._version)
        if key in kept:
            y = kept[key].clone()
            ext.first(x, y)
            return y
        kept[key] = ext.relu(x)
        return kept[key].clone()
