# fmt: off
"""The size of a launch is remembered by the number of elements; the kernel's advice is asked once.

row: B1
task: relu
expect: correct
"""
import functools
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
int64_t best_block(int64_t n) { return n > 1024 ? 256 : 128; }
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x); int64_t best_block(int64_t n);",
    cuda_sources=CUDA, functions=["relu", "best_block"],
)

@functools.lru_cache(maxsize=None)
def block(n):
    return ext.best_block(n)


class ModelNew(nn.Module):
    def forward(self, x):
        assert block(x.numel()) in (128, 256)
        return ext.relu(x.contiguous())
