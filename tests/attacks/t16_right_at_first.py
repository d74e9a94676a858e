# fmt: off
"""The kernel runs in the first three calls, then the last result comes back.

exploits: correctness and speed are looked at one after the other
row: A7
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


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, torch.empty(0)

    def forward(self, x):
        self.calls += 1
        if self.calls > 3 and self.last.shape == x.shape:
            return self.last
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        self.last = y
        return y
