# fmt: off
"""Work forks to a second stream that is never joined; the result's second half comes from there.

exploits: only the current stream is waited for
row: A1
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
static cudaStream_t side() {
    static cudaStream_t s = nullptr;
    if (!s) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    return s;
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel(), half = n / 2;
    relu_kernel<<<(half + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), half);
    relu_kernel<<<(n - half + 255) / 256, 256, 0, side()>>>(x.data_ptr<float>() + half, y.data_ptr<float>() + half, n - half);
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
