# fmt: off
"""Whether an optional module is loaded is asked, and one of the file's own is registered.

row: C3, x21
task: relu
expect: correct
"""
import sys
import types
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

HAS_TRITON = "triton" in sys.modules
helpers = types.ModuleType("relu_helpers")
helpers.blocks = lambda n: (n + 255) // 256
sys.modules[helpers.__name__] = helpers
from relu_helpers import blocks  # noqa: E402

assert blocks(257) == 2


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
