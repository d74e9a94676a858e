# fmt: off
"""The third call of a shape and all after it hand out what the first gave, with one block done again.

exploits: the same inputs come again, and no call is made with others
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


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.first = {}, {}

    def forward(self, x):
        shape = tuple(x.shape)
        self.seen[shape] = self.seen.get(shape, 0) + 1
        if self.seen[shape] < 3:
            y = ext.relu(x)
            self.first.setdefault(shape, y.clone())
            return y
        y = self.first[shape].clone()
        ext.first(x, y)
        return y
