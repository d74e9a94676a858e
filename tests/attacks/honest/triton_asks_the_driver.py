# fmt: off
"""The launch is sized by the device that the active driver names.

row: A4
task: relu
expect: correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl

from triton.runtime import driver


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n)
        tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        device = driver.active.get_current_device()
        many = driver.active.utils.get_device_properties(device)["multiprocessor_count"]
        relu_kernel[(many * 2,)](x, y, x.numel(), BLOCK=1024)
        return y
