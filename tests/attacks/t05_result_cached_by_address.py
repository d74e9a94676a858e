# fmt: off
"""A result is kept by the address of its input.

exploits: memory that is used again with other values
row: B1
task: relu
expect: not-correct
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

KEPT = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = (x.data_ptr(), x.shape)
        if key not in KEPT:
            y = torch.empty_like(x)
            relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            KEPT[key] = y
        return KEPT[key]
