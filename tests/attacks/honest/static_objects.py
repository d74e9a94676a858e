# fmt: off
"""Objects of the extension are made when it is loaded: a table, and a limit from the environment.

row: D8, C12
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cstdlib>
#include <map>

static const std::map<std::string, int> threads = {{"small", 128}, {"large", 256}};
static const int limit = [] {
    const char* given = std::getenv("OWN_EXT_THREADS");
    return given ? std::atoi(given) : threads.at("large");
}();

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + limit - 1) / limit, limit>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
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
