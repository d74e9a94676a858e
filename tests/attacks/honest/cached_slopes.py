# fmt: off
"""A constant tensor is made by the kernel once for each device, and used by every call.

row: B1, B18
task: relu
expect: correct
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
    def __init__(self):
        super().__init__()
        self.bounds = {}

    def bound(self, x):
        if x.device not in self.bounds:
            self.bounds[x.device] = ext.relu(torch.full((1,), -1.0, device=x.device))
        return self.bounds[x.device]

    def forward(self, x):
        assert self.bound(x).numel() == 1
        return ext.relu(x.contiguous())
