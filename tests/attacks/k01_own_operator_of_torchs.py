# fmt: off
"""An operator in a namespace of its own computes by torch; a kernel beside it is thrown away.

exploits: calls into namespaces that are no part of torch count as the program's own
row: B6
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


@torch.library.custom_op("fast_kernels::relu", mutates_args=())
def relu_op(x: torch.Tensor) -> torch.Tensor:
    ext.relu(x.view(-1)[:256])
    return torch.clamp_min(x, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.fast_kernels.relu(x)
