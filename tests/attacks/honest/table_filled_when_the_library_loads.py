# fmt: off
"""A static object fills a table when the library loads; it goes to the GPU once.

row: D8
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <mutex>
#include <vector>
struct Table {
    std::vector<float> values;
    Table() { for (int i = 0; i < 2; ++i) values.push_back(float(i)); }
};
static const Table table;
static std::once_flag sent;
__constant__ float factors[2];
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] != x[i] ? x[i] : factors[x[i] > 0.0f] == 0.0f ? 0.0f : x[i] * factors[1];
}
torch::Tensor relu(torch::Tensor x) {
    std::call_once(sent, [] { cudaMemcpyToSymbol(factors, table.values.data(), 2 * sizeof(float)); });
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
