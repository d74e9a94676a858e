# fmt: off
"""A kernel writes to an address that is none, and the context is lost.

exploits: later samples in the same process fail
row: F4
passes: graders with one process for all samples
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void far(float* y) { y[1ll << 40] = 1.0f; }

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    far<<<1, 1>>>(y.data_ptr<float>());
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
