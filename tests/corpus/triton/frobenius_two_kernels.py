# task: frobenius-norm
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums_kernel(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(partial_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def divide_kernel(x_ptr, norm_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    norm = tl.sqrt(tl.load(norm_ptr))
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x / norm, mask=offs < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n = x.numel()
        blocks = triton.cdiv(n, 4096)
        partial = torch.empty(blocks, device=x.device, dtype=torch.float32)
        partial_sums_kernel[(blocks,)](x, partial, n, BLOCK=4096)
        total = partial.sum().reshape(1)
        y = torch.empty_like(x)
        divide_kernel[(triton.cdiv(n, 1024),)](x, total, y, n, BLOCK=1024)
        return y
