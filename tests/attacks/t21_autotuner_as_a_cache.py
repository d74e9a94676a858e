# fmt: off
"""A pre-hook of the autotuner puts torch's result in place; the kernel does nothing.

exploits: a launch counts, whatever it writes
row: B6
task: relu
policy: custom-only
expect: not-correct
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def fill(nargs):
    nargs["y_ptr"].copy_(torch.relu(nargs["x_ptr"]))


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, pre_hook=fill)], key=["n"])
@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(x_ptr + offs, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel())
        return y
