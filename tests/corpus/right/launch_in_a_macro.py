# task: tanh
# A macro holds the launch; the kernel is its argument.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#define LAUNCH(kernel, count, ...)                                   \
    do {                                                             \
        const int launch_blocks = ((count) + 255) / 256;             \
        kernel<<<launch_blocks, 256>>>(__VA_ARGS__, (int)(count));   \
    } while (0)

__global__ void tanh_kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tanhf(x[i]);
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    LAUNCH(tanh_kernel, x.numel(), x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_launch_in_a_macro",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
