# fmt: off
"""A lock lets one thread build, and a pool builds ahead.

row: A2
task: relu
expect: correct
"""
import threading
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
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
LOCK = threading.Lock()
BUILT = {}

def extension():
    with LOCK:
        if "relu" not in BUILT:
            BUILT["relu"] = load_inline(
                name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
                cuda_sources=CUDA, functions=["relu"],
            )
        return BUILT["relu"]


with ThreadPoolExecutor(1) as pool:
    future = pool.submit(extension)
future.result()


class ModelNew(nn.Module):
    def forward(self, x):
        return extension().relu(x.contiguous())
