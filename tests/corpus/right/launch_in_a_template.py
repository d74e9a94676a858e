# task: elu
# A template launches any function object over all elements.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
template <typename Op>
__global__ void apply(const float* x, float* y, int n, Op op) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = op(x[i]);
}

struct Elu {
    float alpha;
    __device__ float operator()(float v) const { return v > 0.0f ? v : alpha * expm1f(v); }
};

template <typename Op>
torch::Tensor elementwise(torch::Tensor x, Op op) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    apply<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, op);
    return y;
}

torch::Tensor run(torch::Tensor x, double alpha) {
    return elementwise(x, Elu{static_cast<float>(alpha)});
}
"""

cpp_source = "torch::Tensor run(torch::Tensor x, double alpha);"

extension = load_inline(
    name="right_launch_in_a_template",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["run"],
)

class ModelNew(nn.Module):
    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return extension.run(x, self.alpha)
