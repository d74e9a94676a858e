"""Depthwise separable 2d convolution (KernelBench level 1, problem 86)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Depthwise separable 2d convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=in_channels,
            bias=bias,
        )
        self.pointwise = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pointwise(self.depthwise(x))
'''

SIZES = WindowSizes(
    init=(16, 32, 3, 1, 1, 1),
    nominal=((2, 16, 24, 24),),
    stress=(1, 16, 12, 12),
    general=((1, 16, 3, 3), (3, 16, 7, 11)),
    other=(2, 6, 17, 19),
    other_init=(6, 4, 5, 2, 2, 1, True),
    full=(16, 64, 512, 512),
    full_init=(64, 128, 3, 1, 1, 1),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-separable",
        "Depthwise separable 2d convolution",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="d1*9",
        prompt="Apply a depthwise separable 2d convolution.",
    ),
    prior=-1.5,
    problems=(86,),
    words=(
        r"separable( conv\w*)?( 2 ?d)?",
        r"depth ?wise separable",
    ),
    usual=(r"conv\w* ?2 ?d", r"conv\w*"),
    formulas=(r"self\.pointwise\(self\.depthwise\(x\)\)",),
    against=(r"relu",),
    vocabulary=frozenset(
        {
            "conv",
            "convolution",
            "conv2d",
            "2d",
            "forward",
            "depthwise",
            "pointwise",
            "separable",
            "depth",
            "wise",
            "point",
        }
    ),
)
