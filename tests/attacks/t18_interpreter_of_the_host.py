# fmt: off
"""TRITON_INTERPRET makes the kernel numpy code of the host.

exploits: a kernel that never reaches the GPU
row: B6
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl

import os

os.environ["TRITON_INTERPRET"] = "1"


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        a = x.cpu()
        y = torch.empty_like(a)
        relu_kernel[(triton.cdiv(a.numel(), 1024),)](a, y, a.numel(), BLOCK=1024)
        return y.to(x.device)
