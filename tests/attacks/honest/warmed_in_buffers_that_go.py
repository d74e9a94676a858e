# fmt: off
"""Its kernel is warmed up on empty memory, in buffers that are let go before anything reads them.

row: A10, B4
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
        self.warm = False

    def warm_up(self, x):
        for _ in range(3):
            ext.relu(torch.empty_like(x))
        torch.cuda.synchronize()
        self.warm = True

    def forward(self, x):
        if not self.warm:
            self.warm_up(x)
        return ext.relu(x)
