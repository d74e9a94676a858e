# fmt: off
"""Two extensions are built by a pool of threads, which is waited for.

row: A2
task: relu
expect: correct
"""
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
CHECK = r"""
#include <torch/extension.h>
bool suits(torch::Tensor x) { return x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kFloat32; }
"""


def build_relu():
    return load_inline(
        name="relu_of_pool", cpp_sources="torch::Tensor relu(torch::Tensor x);",
        cuda_sources=CUDA, functions=["relu"],
    )


def build_check():
    return load_inline(name="check_of_pool", cpp_sources=CHECK, functions=["suits"])


with ThreadPoolExecutor(max_workers=2) as pool:
    ext, check = (job.result() for job in [pool.submit(build_relu), pool.submit(build_check)])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x if check.suits(x) else x.contiguous().float())
