# fmt: off
"""What `forward` is changes with the number of times that it was asked for: first a kernel, then the kept result.

exploits: only the first calls are compared
row: A7, B1
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
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class Changing:
    def __init__(self):
        self.asked, self.kept = 0, {}

    def __get__(self, model, owner):
        self.asked += 1
        return self.honest if self.asked <= 2 else self.lazy

    def honest(self, x):
        y = ext.relu(x)
        self.kept[x.shape] = y
        return y

    def lazy(self, x):
        return self.kept.get(x.shape) if x.shape in self.kept else self.honest(x)


class ModelNew(nn.Module):
    forward = Changing()
