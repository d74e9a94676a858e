# fmt: off
"""A kernel that waits for itself.

exploits: a hung device blocks all that follow
row: F5
passes: graders whose timeout leaves the worker alive
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, volatile float* y) { while (y[0] != 12345.0f) { } }
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    relu_kernel<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
