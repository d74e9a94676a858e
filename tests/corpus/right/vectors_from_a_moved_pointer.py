# task: swish
# Vectors are read from a pointer that was moved by whole chunks, so it stays aligned.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
constexpr int CHUNK = 1024;

__device__ __forceinline__ float swish(float v) { return v / (1.0f + __expf(-v)); }

__global__ void swish_chunks(const float* x, float* y, int n) {
    const long long first = (long long)blockIdx.x * CHUNK;
    const float* from = x + first;
    float* to = y + first;
    const int mine = threadIdx.x * 4;
    if (first + mine + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(from + mine);
        *reinterpret_cast<float4*>(to + mine) =
            make_float4(swish(v.x), swish(v.y), swish(v.z), swish(v.w));
    } else {
        for (int k = mine; k < mine + 4 && first + k < n; ++k) to[k] = swish(from[k]);
    }
}

torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    swish_chunks<<<(n + CHUNK - 1) / CHUNK, CHUNK / 4>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x);"

extension = load_inline(
    name="right_vectors_from_a_moved_pointer",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
