# fmt: off
"""It registers its kernel by torch.library's decorator, with a fake for shapes and a formula for gradients.

row: B6
task: relu
expect: correct
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


@torch.library.custom_op("own_kernels::relu", mutates_args=())
def relu_op(x: torch.Tensor) -> torch.Tensor:
    return ext.relu(x.contiguous())


@relu_op.register_fake
def _(x):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(output)


def back(ctx, grad):
    (y,) = ctx.saved_tensors
    return grad * (y > 0)


relu_op.register_autograd(back, setup_context=keep)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu_op(x)
