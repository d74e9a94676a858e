# task: relu
# The kernel that is launched is chosen by a pointer.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void relu_one(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void relu_four(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = fmaxf(v.x, 0.0f);
        v.y = fmaxf(v.y, 0.0f);
        v.z = fmaxf(v.z, 0.0f);
        v.w = fmaxf(v.w, 0.0f);
        reinterpret_cast<float4*>(y)[i] = v;
    }
}

using Kernel = void (*)(const float*, float*, int);

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const bool wide = x.numel() % 4 == 0;
    const Kernel kernel = wide ? relu_four : relu_one;
    const int items = wide ? x.numel() / 4 : x.numel();
    kernel<<<(items + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), items);
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_kernel_through_function_pointer",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
