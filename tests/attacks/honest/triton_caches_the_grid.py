# fmt: off
"""Grids are kept by size; results never are.

row: B1
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

GRIDS = {}


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = GRIDS.setdefault(x.numel(), (triton.cdiv(x.numel(), 1024),))
        relu_kernel[grid](x, y, x.numel(), BLOCK=1024)
        return y
