# fmt: off
"""The build is made when it is first needed, for the architectures that a variable names.

row: B23, y21
task: relu
expect: correct
"""
import os
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
EXT = None

def extension():
    global EXT
    if EXT is None:
        if "TORCH_CUDA_ARCH_LIST" not in os.environ:
            os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0"
        verbose = True if os.environ.get("RELU_VERBOSE") else False
        EXT = load_inline(
            name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
            cuda_sources=CUDA, functions=["relu"], verbose=verbose,
        )
    return EXT


class ModelNew(nn.Module):
    def forward(self, x):
        return extension().relu(x.contiguous())
