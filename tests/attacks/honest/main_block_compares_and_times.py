# fmt: off
"""Beside the model stand the original and a script that compares and times both, with all that this takes.

row: A4, C1, B8
task: relu
expect: correct
"""
import time

import torch.nn.functional as F
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
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class Model(nn.Module):
    def forward(self, x):
        return F.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)


def get_inputs():
    return [torch.rand(16, 16384)]


def seconds(model, *inputs):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    model(*inputs)
    begin.record()
    for _ in range(10):
        model(*inputs)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e4


if __name__ == "__main__":
    torch.manual_seed(0)
    given = [x.cuda() for x in get_inputs()]
    assert torch.allclose(Model()(*given), ModelNew()(*given), atol=1e-5)
    started = time.perf_counter()
    print(seconds(Model().cuda(), *given), seconds(ModelNew().cuda(), *given), time.perf_counter() - started)
