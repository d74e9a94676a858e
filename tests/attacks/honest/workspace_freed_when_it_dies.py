# fmt: off
"""A workspace from cudaMalloc belongs to an object that frees it when it dies.

row: W3, B17
task: relu
expect: correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void into_workspace(const float* x, float* w, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) w[i] = x[i] < 0.0f ? 0.0f : x[i];
}
__global__ void out_of_workspace(const float* w, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = w[i];
}
int64_t take(int64_t bytes) {
    void* p = nullptr;
    TORCH_CHECK(cudaMalloc(&p, bytes) == cudaSuccess, "no memory");
    return reinterpret_cast<int64_t>(p);
}
void give(int64_t p) { cudaFree(reinterpret_cast<void*>(p)); }
torch::Tensor relu(torch::Tensor x, int64_t workspace) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    float* w = reinterpret_cast<float*>(workspace);
    into_workspace<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), w, n);
    out_of_workspace<<<(n + 255) / 256, 256>>>(w, y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext",
    cpp_sources="int64_t take(int64_t bytes); void give(int64_t p); torch::Tensor relu(torch::Tensor x, int64_t workspace);",
    cuda_sources=CUDA, functions=["take", "give", "relu"],
)


class Workspace:
    def __init__(self, size):
        self.size, self.pointer = size, ext.take(size)

    def __del__(self):
        ext.give(self.pointer)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.workspace = None

    def forward(self, x):
        if self.workspace is None or self.workspace.size < x.nbytes:
            self.workspace = Workspace(x.nbytes)
        return ext.relu(x, self.workspace.pointer)
