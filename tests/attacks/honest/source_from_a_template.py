# fmt: off
"""The kernel's text is put together from a template, with constants from the environment.

row: G3, E2
task: relu
expect: correct
"""
import ast
import os
from string import Template

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


BLOCK = ast.literal_eval(os.environ.get("RELU_BLOCK", "256"))
TEXT = Template(r"""
#include <torch/extension.h>
__global__ void relu_kernel(const $T* x, $T* y, long n) {
    long i = blockIdx.x * (long)$BLOCK + threadIdx.x;
    if (i < n) y[i] = x[i] < $T(0) ? $T(0) : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + $BLOCK - 1) / $BLOCK, $BLOCK>>>(x.data_ptr<$T>(), y.data_ptr<$T>(), n);
    return y;
}
""")
CUDA = TEXT.substitute(T="float", BLOCK=BLOCK)
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
