# fmt: off
"""A CPU tensor over a device pointer; torch's own relu of the CPU computes it.

exploits: the simulator's memory is the host's own; on a GPU this crashes
row: B6, invented
passes: simulators without a memory of their own
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto view = torch::from_blob(x.data_ptr<float>(), x.sizes(), torch::kFloat32);
    auto done = torch::relu(view);
    auto there = done.to(x.device());
    auto y = torch::empty_like(x);
    long n = x.numel();
    copy_kernel<<<(n + 255) / 256, 256>>>(there.data_ptr<float>(), y.data_ptr<float>(), n);
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
