# fmt: off
"""Where gradients are wanted it logs their norm by a hook on the result.

row: N11, Y28
task: relu
expect: correct
"""
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

log = logging.getLogger("relu")


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = ext.relu(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (y > 0).to(grad.dtype)


class ModelNew(nn.Module):
    def forward(self, x):
        y = Relu.apply(x)
        if y.requires_grad:
            y.register_hook(lambda grad: log.info("norm of the gradient: %g", grad.norm().item()))
        return y
