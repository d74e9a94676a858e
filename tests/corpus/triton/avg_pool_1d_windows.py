# task: avg-pool-1d
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def avg_pool1d_kernel(x_ptr, y_ptr, L, OL, stride, padding, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in tl.static_range(K):
        i = o * stride + k - padding
        acc += tl.load(x_ptr + row * L + i, mask=(i >= 0) & (i < L), other=0.0)
    tl.store(y_ptr + row * OL + o, acc / K, mask=o < OL)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        N, C, L = x.shape
        OL = (L + 2 * self.padding - self.kernel_size) // self.stride + 1
        y = torch.empty((N, C, OL), device=x.device, dtype=x.dtype)
        grid = (N * C, triton.cdiv(OL, 128))
        avg_pool1d_kernel[grid](x, y, L, OL, self.stride, self.padding, K=self.kernel_size, BLOCK=128)
        return y
