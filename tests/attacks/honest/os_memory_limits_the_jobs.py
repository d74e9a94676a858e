# fmt: off
"""How many compilers run at once is taken from /proc/meminfo.

row: E2, D5
task: relu
expect: correct
"""
import os
import re
from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline



def jobs():
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return 1
    return max(1, min(os.cpu_count() or 1, int(found[1]) >> 22 if found else 1))


os.environ.setdefault("MAX_JOBS", str(jobs()))
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
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
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
