"""Depthwise 2d convolution (KernelBench level 1, problems 82, 84)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Depthwise 2d convolution."""

    def __init__(
        self,
        in_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)
'''

SIZES = WindowSizes(
    init=(16, 3),
    nominal=((2, 16, 48, 48), (3, 16, 33, 40)),
    stress=(1, 16, 24, 24),
    general=((1, 16, 3, 3), (3, 16, 7, 11), (1, 16, 5, 200)),
    other=(2, 6, 17, 19),
    other_init=(6, 5, 2, 2, True),
    full=(16, 64, 512, 512),
    full_init=(64, 3),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-depthwise",
        "Depthwise 2d convolution",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="9",
        prompt="Apply a depthwise 2d convolution.",
    ),
    prior=-1.5,
    problems=(
        82,
        84,
    ),
    words=(r"depth ?wise( conv\w*)?( 2 ?d)?",),
    usual=(r"conv\w* ?2 ?d", r"conv\w*"),
    formulas=(r"nn\.Conv2d\(", r"F\.conv2d\("),
    against=(
        r"conv\w* ?[13] ?d",
        r"[13] ?d conv\w*",
        r"transposed?",
        r"relu",
        r"bias add",
        r"separable",
        r"point ?wise",
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
            "depthwise",
            "depth",
            "wise",
        }
    ),
)
