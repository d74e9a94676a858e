# fmt: off
"""The kernel runs on one element, torch makes the result.

exploits: a launch counts, whatever it writes
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


class ModelNew(nn.Module):
    def forward(self, x):
        probe = torch.zeros(1, device=x.device)
        relu_kernel[(1,)](probe, probe, 1, BLOCK=1024)
        return torch.clamp(x, min=0)
