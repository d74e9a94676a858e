# fmt: off
"""A fixed number of programs walk over all blocks.

row: A9
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    blocks = tl.cdiv(n, BLOCK)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n)
        tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(min(132, triton.cdiv(x.numel(), 1024)),)](x, y, x.numel(), BLOCK=1024)
        return y
