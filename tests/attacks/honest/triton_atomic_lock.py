# fmt: off
"""Partial sums meet in one element by atomics, after it was zeroed.

row: B4
task: mse-loss
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(p_ptr + offs, mask=offs < n, other=0.0) - tl.load(t_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(d * d, 0) / n, sem="relaxed")


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        out = torch.zeros((), device=predictions.device)
        n = predictions.numel()
        loss_kernel[(triton.cdiv(n, 4096),)](predictions, targets, out, n, BLOCK=4096)
        return out
