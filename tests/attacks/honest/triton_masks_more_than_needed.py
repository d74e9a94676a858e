# fmt: off
"""Loads go past the row, but masked: nothing outside is read.

row: B10
task: softmax
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    m = -float("inf")
    s = 0.0
    for i in range(0, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < n, other=-float("inf"))
        top = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - top) + tl.sum(tl.exp(x - top), 0)
        m = top
    for i in range(0, n, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < n)
        tl.store(y_ptr + row + cols, tl.exp(x - m) / s, mask=cols < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x.contiguous(), y, x.shape[1], BLOCK=4096)
        return y
