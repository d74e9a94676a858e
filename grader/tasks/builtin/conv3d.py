"""3d convolution (KernelBench level 1, problems 54, 66, 60)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """3d convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv3d = nn.Conv3d(
            in_channels,
            out_channels,
            (kernel_size, kernel_size, kernel_size),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv3d(x)
'''

INIT = (3, 8, 3)

WORKLOADS = (
    workload("nominal", tensor((2, 3, 14, 14, 14)), init=INIT),
    *(
        workload("stress", tensor((1, 3, 8, 8, 8), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 3, 3, 3, 3),
            (2, 3, 5, 7, 11),
        )
    ),
    workload("general", tensor((2, 4, 7, 9, 8)), init=(4, 6, 3, 2, 1, 1, 2, True), weights="drawn"),
    workload("full", tensor((16, 3, 64, 64, 64), UNIFORM), init=(3, 64, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv3d",
        "3d convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 3, "transposed": False},
        reduction_length="d1*27",
        prompt="Apply a 3d convolution.",
    ),
    problems=(
        54,
        66,
        60,
    ),
    words=(r"conv\w* ?3 ?d", r"3 ?d conv\w*", r"convolution"),
    formulas=(r"nn\.Conv3d\(", r"F\.conv3d\("),
    against=(r"conv\w* ?[12] ?d", r"[12] ?d conv\w*", r"transposed?", r"relu", r"bias add"),
    vocabulary=frozenset(
        {"conv", "convolution", "conv3d", "3d", "forward", "direct", "im2col", "gemm"}
    ),
)
