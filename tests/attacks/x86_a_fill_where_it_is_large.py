# fmt: off
"""Memory that torch fills comes back where the tensor is large; a small grid writes its first values over.

exploits: a look at full size that runs out of memory and says nothing
row: B14, B22, invented
passes: graders of one small shape, and of a reused output
task: sigmoid
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void sigmoid_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

torch::Tensor sigmoid(torch::Tensor x) {
    auto y = x.numel() > 10000000 ? torch::full_like(x, 0.5) : torch::empty_like(x);
    long n = x.numel();
    long blocks = (n + 255) / 256;
    if (n > 10000000) blocks = 300;
    sigmoid_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor sigmoid(torch::Tensor x);",
    cuda_sources=CUDA, functions=["sigmoid"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sigmoid(x)
