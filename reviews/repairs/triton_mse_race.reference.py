"""Mean squared error: reference-fixed kernel in Triton."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(p_ptr, t_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    t = tl.load(t_ptr + offs, mask=mask, other=0.0)
    d = p - t
    loss = d * d
    tl.store(partial_ptr + pid, tl.sum(loss, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions = predictions.contiguous()
        targets = targets.contiguous()
        n = predictions.numel()
        blocks = triton.cdiv(n, 1024)
        partial = torch.empty((blocks,), device=predictions.device, dtype=torch.float32)
        loss_kernel[(blocks,)](predictions, targets, partial, n, BLOCK=1024)
        return partial.sum() / n
