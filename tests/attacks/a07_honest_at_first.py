# fmt: off
"""Honest for two calls, then the last result again.

exploits: only the first calls are checked
row: A7
passes: KB (3 warm-ups and one discarded call are known)
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


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.calls = 0
        self.kept = torch.zeros(1)

    def forward(self, x):
        self.calls += 1
        if self.calls <= 2 or self.kept.shape != x.shape:
            self.kept = ext.relu(x)
        return self.kept
