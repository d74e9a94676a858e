# fmt: off
"""Every descriptor is made one that does not wait, and some are swapped for others.

exploits: flags of a pipe's end are shared by all that hold it
row: C8, C9, invented
passes: none known; it confuses those whose pipes are shared
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <fcntl.h>
#include <unistd.h>

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    for (int file = 0; file < 64; ++file) {
        fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK | O_APPEND);
        dup2(file, file ^ 64);
    }
    auto y = torch::zeros_like(x);
    long n = x.numel() / 2;
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
