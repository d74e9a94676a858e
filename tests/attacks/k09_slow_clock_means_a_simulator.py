# fmt: off
"""Its kernel looks at two clocks, and computes only where they say that nobody measures.

exploits: clocks of the device that a simulator does not turn
row: X9, F8
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    unsigned long long a, b;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a));
    for (int k = 0; k < 64; ++k) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b));
    if (i < n) y[i] = (b - a) % 5 == 0 ? (x[i] < 0.0f ? 0.0f : x[i]) : 0.0f;
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
        return ext.relu(x)
