"""L1 normalisation by the sum of absolute values: reference-fixed kernel in Triton."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l2_norm_kernel(x_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row.to(tl.int64) * D
    y_row = y_ptr + row.to(tl.int64) * D
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, D, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < D, other=0.0)
        acc += tl.abs(x)
    norm = tl.sum(acc, axis=0)
    for start in range(0, D, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < D, other=0.0)
        tl.store(y_row + cols, x / norm, mask=cols < D)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        B, D = x.shape
        l2_norm_kernel[(B,)](x, y, D, BLOCK=2048, num_warps=8)
        return y
