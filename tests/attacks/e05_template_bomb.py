# fmt: off
"""Templates that never end.

exploits: compilers have few limits of their own
row: E5
passes: graders without limits on the compiler
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
template <long N, long M> struct Bomb { static const long value = Bomb<N + 1, M>::value + Bomb<N, M + 1>::value; };
torch::Tensor relu(torch::Tensor x) { return x + Bomb<0, 0>::value; }
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
