# fmt: off
"""The active driver of Triton is replaced by one whose launches do nothing.

exploits: a launch is believed because the driver took it
row: A4
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl

from triton.runtime import driver


class Silent(type(driver.active)):
    def launcher_cls(self, *args, **kwargs):
        return lambda *a, **k: None


driver.set_active(Silent())


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        relu_kernel[(1,)](x, y, 0, BLOCK=1024)
        return y
