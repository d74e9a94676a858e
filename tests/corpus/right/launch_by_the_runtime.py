# task: leaky-relu
# cudaLaunchKernel takes the kernel as a plain pointer.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void leaky(const float* x, float* y, int n, float slope) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : slope * x[i];
}

torch::Tensor run(torch::Tensor x, double negative_slope) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    int n = x.numel();
    float slope = negative_slope;
    void* arguments[] = {&in, &out, &n, &slope};
    const cudaError_t error = cudaLaunchKernel(
        reinterpret_cast<const void*>(&leaky), dim3((n + 255) / 256), dim3(256), arguments, 0, nullptr);
    TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x, double negative_slope);"

extension = load_inline(
    name="right_launch_by_the_runtime",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        return extension.run(x, self.negative_slope)
