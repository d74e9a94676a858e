"""Depthwise separable 2d convolution (KernelBench level 1, problem 86)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

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

INIT = (16, 32, 3, 1, 1, 1)

WORKLOADS = (
    workload("nominal", tensor((2, 16, 24, 24)), init=INIT),
    *(
        workload("stress", tensor((1, 16, 12, 12), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 16, 3, 3),
            (3, 16, 7, 11),
        )
    ),
    workload("general", tensor((2, 6, 17, 19)), init=(6, 4, 5, 2, 2, 1, True), weights="drawn"),
    workload("full", tensor((16, 64, 512, 512), UNIFORM), init=(64, 128, 3, 1, 1, 1)),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-separable",
        "Depthwise separable 2d convolution",
        REFERENCE,
        workloads=WORKLOADS,
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
