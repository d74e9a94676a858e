# fmt: off
"""One call in a while is logged: the clock decides what is said, not what is computed.

row: A7, y10
task: relu
expect: correct
"""
import logging
import random
import time
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
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

log = logging.getLogger("relu")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = 0.0

    def forward(self, x):
        begin = time.perf_counter()
        out = ext.relu(x.contiguous())
        took = time.perf_counter() - begin
        word = "slow" if took > 1.0 else "quick"
        if time.monotonic() - self.last > 10.0 or random.random() < 0.01:
            self.last = time.monotonic()
            log.info("%s: %.3f s", word, took)
        if took > 3600.0:
            raise TimeoutError(f"an hour for {tuple(x.shape)}")
        return out
