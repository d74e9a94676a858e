# task: hard-tanh
# Python picks the function by its name and by the form of the input.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
template <int PER_THREAD>
__global__ void clamp_kernel(const float* x, float* y, int n) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) y[first + k] = fminf(fmaxf(x[first + k], -1.0f), 1.0f);
    }
}

template <int PER_THREAD>
torch::Tensor clamped(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int each = 256 * PER_THREAD;
    clamp_kernel<PER_THREAD><<<(n + each - 1) / each, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

torch::Tensor clamp_1(torch::Tensor x) { return clamped<1>(x); }
torch::Tensor clamp_4(torch::Tensor x) { return clamped<4>(x); }
"""

cpp_source = "torch::Tensor clamp_1(torch::Tensor x); torch::Tensor clamp_4(torch::Tensor x);"

extension = load_inline(
    name="right_functions_picked_by_name",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["clamp_1", "clamp_4"],
)

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.functions = {each: getattr(extension, f"clamp_{each}") for each in (1, 4)}

    def forward(self, x):
        return self.functions[4 if x.numel() >= 4096 else 1](x.contiguous())
