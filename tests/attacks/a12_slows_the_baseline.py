# fmt: off
"""A kernel that never ends is left running while the baseline is timed.

exploits: the baseline is timed on the same GPU afterwards
row: A12
passes: KB, SOL unless clocks are locked
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void heats(volatile int* stop) { while (*stop == 0) { } }

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    auto stop = torch::zeros({1}, x.options().dtype(torch::kInt));
    auto side = c10::cuda::getStreamFromPool();
    heats<<<1, 1, 0, side.stream()>>>(stop.data_ptr<int>());
    return y;
}
"""
ext = load_inline(
    name="own_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
