# fmt: off
"""Results are stored in a file and read back by later calls.

exploits: the correctness run fills what the timing run reads
row: B3
passes: GPUM (#160)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import os
import tempfile

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


class ModelNew(nn.Module):
    def forward(self, x):
        path = os.path.join(tempfile.gettempdir(), f"r{tuple(x.shape)}.pt")
        if os.path.exists(path):
            return torch.load(path).to(x.device)
        y = ext.relu(x)
        torch.save(y.cpu(), path)
        return y
