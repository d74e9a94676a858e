# fmt: off
"""The kernel is written beside the build and compiled from its file.

row: E1, F7
task: relu
expect: correct
"""
import os
import tempfile
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

def kernel_file():
    folder = tempfile.mkdtemp(prefix="relu_")
    path = os.path.join(folder, "relu.cu")
    with open(path, "w") as file:
        file.write(CUDA)
    return path


with open(kernel_file()) as file:
    SOURCE = file.read()
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=SOURCE, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
