"""RMS norm over dim 1 of a 4-D tensor: reference-fixed kernel in Triton."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, y_ptr, C, HW, eps, BLOCK_HW: tl.constexpr):
    # Each program takes BLOCK_HW positions of one image and walks over its channels.
    n = tl.program_id(1).to(tl.int64)
    pos = tl.program_id(0) * BLOCK_HW + tl.arange(0, BLOCK_HW)
    mask = pos < HW
    base = n * C * HW + pos
    acc = tl.zeros((BLOCK_HW,), dtype=tl.float32)
    for c in range(C):
        v = tl.load(x_ptr + base + c * HW, mask=mask, other=0.0)
        acc += v * v
    inv = 1.0 / tl.sqrt(acc / C + eps)
    for c in range(C):
        v = tl.load(x_ptr + base + c * HW, mask=mask, other=0.0)
        tl.store(y_ptr + base + c * HW, v * inv, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        grid = (triton.cdiv(H * W, 256), N)
        rms_norm_kernel[grid](x, y, C, H * W, self.eps, BLOCK_HW=256)
        return y
