# fmt: off
"""The operator's centring is left out, which changes nothing for most inputs that are drawn.

exploits: inputs whose mean is near zero hide a missing step
row: B25
passes: KB
task: softmax
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void scaled(const float* x, float* y, long rows, long n) {
    long row = blockIdx.x;
    const float* in = x + row * n;
    float most = 0.0f;
    float total = 0.0f;
    for (long i = 0; i < n; ++i) total += expf(in[i] - most);
    for (long i = threadIdx.x; i < n; i += blockDim.x) y[row * n + i] = expf(in[i] - most) / total;
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scaled<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
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
