# task: sigmoid
# The launch is handed on as a std::function.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <functional>

__global__ void sigmoid_kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

static torch::Tensor mapped(
    torch::Tensor x, const std::function<void(const float*, float*, int)>& launch) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    launch(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

torch::Tensor run(torch::Tensor x) {
    return mapped(x, [](const float* in, float* out, int n) {
        sigmoid_kernel<<<(n + 255) / 256, 256>>>(in, out, n);
    });
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_launch_in_a_std_function",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
