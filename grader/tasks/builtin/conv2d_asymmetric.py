"""2d convolution with an asymmetric kernel (KernelBench level 1, problems 56, 62)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """2d convolution with an asymmetric kernel."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1),
        padding: tuple = (0, 0),
        dilation: tuple = (1, 1),
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)
'''

SIZES = WindowSizes(
    init=(16, 32, [5, 7]),
    nominal=((2, 16, 20, 24),),
    stress=(1, 16, 12, 12),
    general=((1, 16, 5, 7), (3, 16, 7, 11)),
    other=(2, 6, 17, 19),
    other_init=(6, 4, [3, 5], [2, 1], [1, 2], [1, 2], 2, True),
    full=(8, 64, 512, 256),
    full_init=(64, 128, [5, 7]),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-asymmetric",
        "2d convolution with an asymmetric kernel",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="d1*35",
        prompt="Apply a 2d convolution with an asymmetric kernel.",
    ),
    prior=-1.5,
    problems=(
        56,
        62,
    ),
    words=(r"asymmetric( input)?( kernel)?",),
    usual=(r"conv\w* ?2 ?d", r"conv\w*"),
    formulas=(r"nn\.Conv2d\(", r"F\.conv2d\("),
    against=(
        r"conv\w* ?[13] ?d",
        r"[13] ?d conv\w*",
        r"transposed?",
        r"relu",
        r"bias add",
        r"depth ?wise",
        r"point ?wise",
        r"separable",
    ),
    vocabulary=frozenset(
        {
            "conv",
            "convolution",
            "conv2d",
            "2d",
            "forward",
            "direct",
            "im2col",
            "gemm",
            "asymmetric",
            "kernel",
        }
    ),
)
