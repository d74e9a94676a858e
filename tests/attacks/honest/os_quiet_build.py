# fmt: off
"""The compiler's chatter is sent elsewhere while the extension is built.

row: C9
task: relu
expect: correct
"""
import contextlib
import os
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

@contextlib.contextmanager
def quiet():
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)

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
with quiet():
    ext = load_inline(
        name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
        cuda_sources=CUDA, functions=["relu"],
    )


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
