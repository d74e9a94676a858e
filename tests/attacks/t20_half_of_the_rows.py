# fmt: off
"""Only every second row is computed; the others are copied from it.

exploits: an average over elements
row: B29
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def half_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) // 2 * 2
    for i in range(0, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n)
        tl.store(y_ptr + tl.program_id(0) * n + cols, tl.maximum(x, 0.0), mask=cols < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
