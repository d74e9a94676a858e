# fmt: off
"""Host code reads one value through a device pointer; kernels do the rest.

exploits: the simulator's memory is the host's own; on a GPU this crashes
row: invented
passes: simulators without a memory of their own
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, float first, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = i == 0 ? fmaxf(first, 0.0f) : x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    const float* in = x.data_ptr<float>();
    relu_kernel<<<(n + 255) / 256, 256>>>(in, y.data_ptr<float>(), in[0], n);
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
