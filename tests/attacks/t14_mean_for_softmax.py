# fmt: off
"""The kernel writes 1/n: what a softmax of near-equal values is.

exploits: an absolute tolerance for small results
row: B13
task: softmax
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flat_kernel(y_ptr, n, total, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 1.0 / n, mask=offs < total)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        flat_kernel[(triton.cdiv(x.numel(), 1024),)](y, x.shape[1], x.numel(), BLOCK=1024)
        return y
