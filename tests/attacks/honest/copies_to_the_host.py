# fmt: off
"""Slow and honest: the host computes on a copy that it asked for.

row: B6
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void unused(float* y) { y[0] = 0.0f; }

torch::Tensor relu(torch::Tensor x) {
    auto here = x.cpu();
    auto y = torch::empty_like(here);
    for (long i = 0; i < here.numel(); ++i)
        y.data_ptr<float>()[i] = std::max(here.data_ptr<float>()[i], 0.0f);
    auto scrap = torch::empty({1}, x.options());
    unused<<<1, 1>>>(scrap.data_ptr<float>());
    return y.to(x.device());
}
"""
ext = load_inline(
    name="copied_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
