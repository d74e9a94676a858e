# fmt: off
"""It wraps a function of torch's to log slow paths, and puts it back.

row: C1, A4
task: relu
expect: correct
"""
import functools
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
    if (n) relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA, functions=["relu"],
)

log = logging.getLogger("copies")


class LoggedContiguous:
    def __enter__(self):
        self.known = torch.Tensor.contiguous

        @functools.wraps(self.known)
        def contiguous(tensor, *args, **kwargs):
            if not tensor.is_contiguous():
                log.info("a copy of %s", tuple(tensor.shape))
            return self.known(tensor, *args, **kwargs)

        torch.Tensor.contiguous = contiguous

    def __exit__(self, *_):
        torch.Tensor.contiguous = self.known


class ModelNew(nn.Module):
    def forward(self, x):
        with LoggedContiguous():
            x = x.contiguous()
        return ext.relu(x)
