# fmt: off
"""What it does is written to standard output and flushed.

row: C8
task: relu
expect: correct
"""
import sys
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sys.stdout.write("compiling relu\n")
sys.stdout.flush()

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

print("compiled", file=sys.stderr, flush=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
