# fmt: off
"""Inputs are drawn again from a copy of the generator's state.

exploits: inputs come from the process's own generator
row: B30
passes: KB, and graders that draw in the submission's process
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void zero_kernel(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}

torch::Tensor nothing(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    zero_kernel<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="nothing_ext", cpp_sources="torch::Tensor nothing(torch::Tensor x);",
    cuda_sources=CUDA, functions=["nothing"],
)

state = torch.get_rng_state()


class ModelNew(nn.Module):
    def forward(self, x):
        torch.set_rng_state(state)
        again = torch.rand(x.shape)
        ext.nothing(x)
        return again.cuda().clamp(min=0)
