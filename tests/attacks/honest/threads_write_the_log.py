# fmt: off
"""A line of the log is written by a thread of its own, which makes no result.

row: A2, x11
task: relu
expect: correct
"""
import threading
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

LOG = []


def note(shape):
    LOG.append(str(tuple(shape)))
    del LOG[:-20]


class ModelNew(nn.Module):
    def forward(self, x):
        out = ext.relu(x.contiguous())
        threading.Thread(target=note, args=(x.shape,), daemon=True).start()
        return out
