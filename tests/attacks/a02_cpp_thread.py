# fmt: off
"""A detached C++ thread launches the kernel later.

exploits: the work goes on after the clock has stopped
row: A2
passes: KB (inferred: std::thread passes its checker)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <thread>
#include <chrono>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        relu_kernel<<<(n + 255) / 256, 256>>>(in, out, n);
    }).detach();
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
