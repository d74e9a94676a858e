# task: argmax-dim
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = -float("inf")
    where = 0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        top = tl.max(x, axis=0)
        at = tl.argmax(x, axis=0) + start
        where = tl.where(top > best, at, where)
        best = tl.maximum(best, top)
    tl.store(out_ptr + row, where.to(tl.int64))


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.movedim(self.dim, -1).contiguous()
        n = rows.shape[-1]
        out = torch.empty(rows.shape[:-1], device=x.device, dtype=torch.int64)
        argmax_kernel[(out.numel(),)](rows, out, n, BLOCK=256)
        return out
