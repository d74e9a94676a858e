# fmt: off
"""The first result for a shape is returned again and again.

exploits: the same input in every trial
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
        if x.shape not in KEPT:
            y = torch.empty_like(x)
            relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            KEPT[x.shape] = y
        return KEPT[x.shape]
