# fmt: off
"""The output is a transposed view of what the kernel wrote.

row: B29
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long rows, long cols) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        float v = x[i];
        y[(i % cols) * rows + i / cols] = v < 0.0f ? 0.0f : v;
    }
}

torch::Tensor relu_t(torch::Tensor x) {
    auto y = torch::empty({x.size(1), x.size(0)}, x.options());
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y.t();
}
"""
ext = load_inline(
    name="relu_t_ext", cpp_sources="torch::Tensor relu_t(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu_t"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu_t(x)
