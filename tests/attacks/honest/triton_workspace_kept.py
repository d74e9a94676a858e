# fmt: off
"""A buffer for partial sums is kept between calls and written anew in each.

row: B17
task: mse-loss
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
    tl.store(out_ptr + tl.program_id(0), tl.sum(d * d, 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.workspace = None

    def forward(self, predictions, targets):
        n = predictions.numel()
        blocks = triton.cdiv(n, 1024)
        if self.workspace is None or self.workspace.numel() < blocks:
            self.workspace = torch.empty(blocks, device=predictions.device)
        part = self.workspace[:blocks]
        partial_kernel[(blocks,)](predictions, targets, part, n, BLOCK=1024)
        return part.sum() / n
