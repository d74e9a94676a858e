# task: gelu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Four elements per thread through 16-byte loads, with a scalar tail.
gelu_cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float gelu_one(float v) {
    return 0.5f * v * (1.0f + erff(v * 0.7071067811865476f));
}

__global__ void gelu_vec4_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int groups = n / 4;
    if (i < groups) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = gelu_one(v.x);
        v.y = gelu_one(v.y);
        v.z = gelu_one(v.z);
        v.w = gelu_one(v.w);
        reinterpret_cast<float4*>(y)[i] = v;
    }
    // the last n % 4 elements
    const int rest = groups * 4 + i;
    if (rest < n) {
        y[rest] = gelu_one(x[rest]);
    }
}

torch::Tensor gelu_forward(torch::Tensor input) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    auto x = input.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    const int work = std::max(n / 4, 4);
    const int blocks = (work + threads - 1) / threads;
    gelu_vec4_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

gelu_cpp_source = "torch::Tensor gelu_forward(torch::Tensor input);"

gelu_ext = load_inline(
    name="gelu_vec4_ext",
    cpp_sources=gelu_cpp_source,
    cuda_sources=gelu_cuda_source,
    functions=["gelu_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.gelu_ext = gelu_ext

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gelu_ext.gelu_forward(x)
