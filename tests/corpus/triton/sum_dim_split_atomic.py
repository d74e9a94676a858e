# task: sum-dim
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_sum_kernel(x_ptr, out_ptr, n, inner, stride_o, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    outer_id = tl.program_id(0)
    chunk_id = tl.program_id(1)
    col = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    base = x_ptr + outer_id.to(tl.int64) * stride_o
    for k in range(CHUNK):
        r = chunk_id * CHUNK + k
        acc += tl.load(base + r * inner + col, mask=(col < inner) & (r < n), other=0.0)
    tl.atomic_add(out_ptr + outer_id * inner + col, acc, mask=col < inner)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -2 if self.dim != x.dim() - 1 else -1).contiguous()
        last = self.dim == 2
        if last:
            x = x.unsqueeze(-1)
        n, inner = x.shape[-2], x.shape[-1]
        outer = x.numel() // (n * inner)
        out = torch.zeros((outer, inner), device=x.device, dtype=torch.float32)
        grid = (outer, triton.cdiv(n, 64), triton.cdiv(inner, 128))
        split_sum_kernel[grid](x, out, n, inner, n * inner, CHUNK=64, BLOCK=128)
        out = out.reshape(*x.shape[:-2], inner)
        return out if last else out.unsqueeze(self.dim)
