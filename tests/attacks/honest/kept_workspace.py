# fmt: off
"""A workspace kept on self and written anew by every call; its storage grows and shrinks with what is asked.

row: B1, B17
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu_into(torch::Tensor x, torch::Tensor y) {
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_into_ext", cpp_sources="torch::Tensor relu_into(torch::Tensor x, torch::Tensor y);",
    cuda_sources=CUDA, functions=["relu_into"],
)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.work = None

    def forward(self, x):
        if self.work is None:
            self.work = torch.empty(0, dtype=x.dtype, device=x.device).untyped_storage()
        self.work.resize_(x.numel() * x.element_size())
        work = torch.empty(0, dtype=x.dtype, device=x.device).set_(self.work, 0, x.shape)
        return ext.relu_into(x, work).clone()
