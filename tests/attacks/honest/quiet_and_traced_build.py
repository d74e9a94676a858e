# fmt: off
"""What the build prints is caught, its memory traced, its limits read, faults told.

row: C8, F3
task: relu
expect: correct
"""
import contextlib
import faulthandler
import io
import resource
import tracemalloc

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

faulthandler.enable()
tracemalloc.start()
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.suppress(AttributeError):
    ext = load_inline(
        name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
        cuda_sources=CUDA, functions=["relu"], verbose=True,
    )
_, peak = tracemalloc.get_traced_memory()
tracemalloc.stop()
soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
print(f"built; {len(said.getvalue())} characters, {peak >> 10} KiB, {soft} files")


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)
