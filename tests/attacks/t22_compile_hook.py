# fmt: off
"""torch.compile makes the kernels; the Triton kernel beside it is a decoy.

exploits: a kernel of a library counts as the answer's own
row: B6
task: relu
policy: custom-only
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


@torch.compile
def compiled(x):
    return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1, device=x.device)
        relu_kernel[(1,)](x, y, 1, BLOCK=128)
        return compiled(x)
