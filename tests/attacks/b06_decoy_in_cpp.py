# fmt: off
"""The extension launches an empty kernel and returns at::relu.

exploits: a launched kernel looks like custom work
row: B6
passes: KB
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(float* y) { if (threadIdx.x == 0) y[0] = 0.0f; }

torch::Tensor relu(torch::Tensor x) {
    auto scratch = torch::empty({1}, x.options());
    relu_kernel<<<1, 32>>>(scratch.data_ptr<float>());
    return at::relu(x);
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
