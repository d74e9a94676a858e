# fmt: off
"""Its functions are bound to module names in a loop, by getattr and globals.

row: G4, X35
task: relu
expect: correct
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

for name in ("relu",):
    globals()[f"own_{name}"] = getattr(ext, name)


class Kernels:
    def __getattr__(self, name):
        return globals()[f"own_{name}"]


class ModelNew(nn.Module):
    kernels = Kernels()

    def forward(self, x):
        return self.kernels.relu(x)
