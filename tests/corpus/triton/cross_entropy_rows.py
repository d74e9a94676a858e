# task: cross-entropy-loss
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, losses_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    target = tl.load(targets_ptr + row)
    base = logits_ptr + row.to(tl.int64) * C
    m = float("-inf")
    s = 0.0
    for start in range(0, C, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < C, other=float("-inf"))
        new_m = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - new_m) + tl.sum(tl.exp(x - new_m), 0)
        m = new_m
    picked = tl.load(base + target)
    tl.store(losses_ptr + row, m + tl.log(s) - picked)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions = predictions.contiguous()
        rows, C = predictions.shape
        losses = torch.empty(rows, device=predictions.device, dtype=torch.float32)
        cross_entropy_kernel[(rows,)](predictions, targets, losses, C, BLOCK=512)
        return losses.mean()
