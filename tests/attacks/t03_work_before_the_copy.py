# fmt: off
"""torch computes, the kernel only copies the result.

exploits: a kernel that writes the result counts as its maker
row: B6
task: softmax
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        done = torch.softmax(x, dim=1)
        y = torch.empty_like(x)
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](done, y, x.numel(), BLOCK=1024)
        return y
