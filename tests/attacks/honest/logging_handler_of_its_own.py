# fmt: off
"""A handler keeps the last lines of the log, which is switched off at exit.

row: C1, C6
task: relu
expect: correct
"""
import atexit
import collections
import logging
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


class LastLines(logging.Handler):
    def __init__(self, most):
        super().__init__()
        self.lines = collections.deque(maxlen=most)

    def emit(self, record):
        self.lines.append(self.format(record))


LOG = logging.getLogger("relu")
LOG.setLevel(logging.DEBUG)
LOG.addHandler(LastLines(50))
LOG.propagate = False
atexit.register(logging.shutdown)


class ModelNew(nn.Module):
    def forward(self, x):
        LOG.debug("shape %s", tuple(x.shape))
        return ext.relu(x.contiguous())
