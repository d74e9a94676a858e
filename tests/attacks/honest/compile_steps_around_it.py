# fmt: off
"""Forward is kept out of torch.compile, which could not look into the extension.

row: B6
task: relu
expect: correct
"""
import torch
import torch._dynamo
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

torch._dynamo.config.suppress_errors = True
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


class ModelNew(nn.Module):
    @torch._dynamo.disable
    def forward(self, x):
        if torch.compiler.is_compiling():
            raise RuntimeError("not to be compiled")
        return ext.relu(x)
