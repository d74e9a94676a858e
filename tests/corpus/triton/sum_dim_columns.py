# task: sum-dim
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_kernel(x_ptr, out_ptr, n, inner, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr):
    # Program (o, i) reduces over the middle axis for BLOCK_I neighbouring columns.
    o = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_I + tl.arange(0, BLOCK_I)
    col_mask = cols < inner
    acc = tl.zeros((BLOCK_I,), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        rows = start + tl.arange(0, BLOCK_N)
        ptrs = x_ptr + o * n * inner + rows[:, None] * inner + cols[None, :]
        mask = (rows[:, None] < n) & col_mask[None, :]
        x = tl.load(ptrs, mask=mask, other=0.0)
        acc += tl.sum(x, axis=0)
    tl.store(out_ptr + o * inner + cols, acc, mask=col_mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        dim = self.dim % x.dim()
        outer = 1
        for size in x.shape[:dim]:
            outer *= size
        n = x.shape[dim]
        inner = 1
        for size in x.shape[dim + 1 :]:
            inner *= size
        shape = list(x.shape)
        shape[dim] = 1
        out = torch.empty(shape, device=x.device, dtype=x.dtype)
        grid = (outer, triton.cdiv(inner, 64))
        reduce_kernel[grid](x, out, n, inner, BLOCK_N=32, BLOCK_I=64)
        return out
