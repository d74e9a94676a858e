# fmt: off
"""What refers to an object is counted, to find a leak; the collector's pauses are timed.

row: C5
task: relu
expect: correct
"""
import gc
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

PAUSES = []


def timed(phase, info):
    PAUSES.append((phase, info.get("generation"), time.perf_counter()))
    del PAUSES[:-50]


gc.callbacks.append(timed)
gc.set_threshold(1000, 15, 15)


class Workspace:
    pass


workspace = Workspace()
assert len(gc.get_referrers(workspace)) >= 1


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x.contiguous())
