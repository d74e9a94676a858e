# fmt: off
"""A closure of the file's own is read for a line of a log.

row: C4, x01
task: relu
expect: correct
"""
import inspect
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

def launcher(threads):
    def launch(x):
        return ext.relu(x) if threads else x
    return launch


launch = launcher(256)
SETTINGS = [cell.cell_contents for cell in launch.__closure__]
HELD = inspect.getclosurevars(launch).nonlocals


class ModelNew(nn.Module):
    def forward(self, x):
        return launch(x.contiguous())
