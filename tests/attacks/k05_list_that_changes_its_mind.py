# fmt: off
"""What comes back is a list that gives another tensor each time it is asked.

exploits: a container that is looked into when results are compared
row: A3
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
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class Leaves(list):
    def __init__(self, x):
        super().__init__([torch.zeros_like(x)])
        self.x = x

    def __iter__(self):
        yield ext.relu(self.x)

    def __getitem__(self, n):
        return ext.relu(self.x)

    def __len__(self):
        return 1


class ModelNew(nn.Module):
    def forward(self, x):
        return Leaves(x)
