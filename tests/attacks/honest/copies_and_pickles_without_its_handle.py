# fmt: off
"""The model leaves its extension's handle out where it is copied or pickled.

row: C10
task: relu
expect: correct
"""
import copy

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


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.handle = ext

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key != "handle"}

    def __setstate__(self, state):
        self.__dict__.update(state, handle=ext)

    def __deepcopy__(self, memo):
        made = type(self)()
        made.load_state_dict(copy.deepcopy(self.state_dict(), memo))
        return made

    def forward(self, x):
        return self.handle.relu(x)
