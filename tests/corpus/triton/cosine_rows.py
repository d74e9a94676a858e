# task: cosine-loss
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_loss_kernel(p_ptr, t_ptr, out_ptr, B, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    dot = tl.zeros((BLOCK,), tl.float32)
    pp = tl.zeros((BLOCK,), tl.float32)
    tt = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, D, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * D + cols, mask=cols < D, other=0.0)
        t = tl.load(t_ptr + row * D + cols, mask=cols < D, other=0.0)
        dot += p * t
        pp += p * p
        tt += t * t
    p_norm = tl.maximum(tl.sqrt(tl.sum(pp, axis=0)), eps)
    t_norm = tl.maximum(tl.sqrt(tl.sum(tt, axis=0)), eps)
    loss = 1.0 - tl.sum(dot, axis=0) / (p_norm * t_norm)
    tl.atomic_add(out_ptr, loss / B)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions, targets = predictions.contiguous(), targets.contiguous()
        B, D = predictions.shape
        out = torch.zeros((), device=predictions.device, dtype=torch.float32)
        cosine_loss_kernel[(B,)](predictions, targets, out, B, D, 1e-8, BLOCK=1024)
        return out
