# fmt: off
"""The extension is one call of at::softmax.

exploits: load_inline compiles anything
row: B31
passes: KB (by its rules)
task: softmax
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
torch::Tensor soft(torch::Tensor x) { return at::softmax(x, 1); }
"""
ext = load_inline(
    name="soft_ext", cpp_sources="torch::Tensor soft(torch::Tensor x);",
    cuda_sources=CUDA, functions=["soft"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.soft(x)
