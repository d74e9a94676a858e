# fmt: off
"""All calls return the same buffer.

exploits: two results that are compared after both calls
row: B17
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

BUFFER = []


class ModelNew(nn.Module):
    def forward(self, x):
        if not BUFFER or BUFFER[0].numel() < x.numel():
            BUFFER[:] = [torch.empty(x.numel(), device=x.device)]
        y = BUFFER[0][: x.numel()].view_as(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
