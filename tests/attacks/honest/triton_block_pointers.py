# fmt: off
"""Block pointers with boundary checks.

row: B10
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    src = tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(first,), block_shape=(BLOCK,), order=(0,))
    dst = tl.make_block_ptr(y_ptr, shape=(n,), strides=(1,), offsets=(first,), block_shape=(BLOCK,), order=(0,))
    x = tl.load(src, boundary_check=(0,), padding_option="zero")
    tl.store(dst, tl.maximum(x, 0.0), boundary_check=(0,))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
