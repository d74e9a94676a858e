# fmt: off
"""The kernel calls two other functions under @triton.jit.

row: G1
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def positive(x):
    return tl.where(x > 0, x, 0.0)


@triton.jit
def offsets(BLOCK: tl.constexpr):
    return tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = offsets(BLOCK)
    tl.store(y_ptr + at, positive(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
