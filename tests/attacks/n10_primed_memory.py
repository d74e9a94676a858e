# fmt: off
"""Half of the values are left as what an earlier tensor of the same size held, which the program filled itself with a right result.

exploits: freed memory keeps what torch computed
row: B4, B17
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n && i % 2 == 0) y[i] = x[i] < 0.0f ? 0.0f : x[i];
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


class ModelNew(nn.Module):
    def forward(self, x):
        primed = torch.clamp(x, min=0)
        del primed
        return ext.relu(x)
