# fmt: off
"""A profile hook looks through the variables of each function that returns.

exploits: the reference's result is a variable of the same process
row: B9, C4
task: relu
expect: not-correct
"""
import sys
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

FOUND = []


def watch(frame, event, arg):
    if event == "return":
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, torch.Tensor) and name in {"expected", "reference", "ref_out", "output_ref", "y_ref"}:
                FOUND.append(value)


sys.setprofile(watch)


class ModelNew(nn.Module):
    def forward(self, x):
        for one in FOUND:
            if one.shape == x.shape:
                return one
        return ext.nothing(x)
