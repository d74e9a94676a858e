# fmt: off
"""The last step, a sum of partial results, is torch's.

row: B6
task: l1-loss
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(p_ptr + offs, mask=offs < n, other=0.0) - tl.load(t_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(tl.abs(d), 0))


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        n = predictions.numel()
        part = torch.empty(triton.cdiv(n, 2048), device=predictions.device)
        partial_kernel[(part.numel(),)](predictions, targets, part, n, BLOCK=2048)
        return torch.sum(part) / n
