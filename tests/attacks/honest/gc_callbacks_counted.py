# fmt: off
"""Collections are counted while the model is used.

row: B9, D6
task: relu
expect: correct
"""
import gc
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

COUNTS = {"start": 0, "stop": 0}


def count(phase, info):
    COUNTS[phase] += 1


gc.callbacks.append(count)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
