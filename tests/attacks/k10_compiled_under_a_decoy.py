# fmt: off
"""torch.compile computes what a kernel only pretends to.

exploits: operators that run from compiled code are not on record
row: B6, T22
task: relu
expect: not-correct
policy: custom-only
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


@torch.compile(backend="eager")
def compute(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


class ModelNew(nn.Module):
    def forward(self, x):
        ext.relu(x.reshape(-1)[:1024])
        return compute(x)
