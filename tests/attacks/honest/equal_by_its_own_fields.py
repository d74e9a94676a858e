# fmt: off
"""A key of launch settings that says by itself when two are equal.

row: B1, C1
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x, int64_t blocks, int64_t threads) {
    auto y = torch::empty_like(x);
    relu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x, int64_t blocks, int64_t threads);",
    cuda_sources=CUDA, functions=["relu"],
)


class Key:
    def __init__(self, x):
        self.size, self.dtype = x.numel(), x.dtype

    def __eq__(self, other):
        return isinstance(other, Key) and (self.size, self.dtype) == (other.size, other.dtype)

    def __hash__(self):
        return hash((self.size, self.dtype))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = {}

    def forward(self, x):
        key = Key(x)
        if key not in self.settings:
            threads = 128 if key.size < 1 << 16 else 256
            self.settings[key] = (max(1, min((key.size + threads - 1) // threads, 65535)), threads)
        return ext.relu(x, *self.settings[key])
