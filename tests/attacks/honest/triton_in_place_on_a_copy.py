# fmt: off
"""A clone of the input is changed in place and returned.

row: B17
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        relu_kernel[(triton.cdiv(y.numel(), 1024),)](y, y, y.numel(), BLOCK=1024)
        return y
