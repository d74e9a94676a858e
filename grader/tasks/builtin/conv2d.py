"""2d convolution (KernelBench level 1, problems 63, 55)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """2d convolution."""

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
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            (kernel_size, kernel_size),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)
'''

INIT = (16, 32, 3)

WORKLOADS = (
    workload("nominal", tensor((2, 16, 20, 20)), init=INIT),
    workload("nominal", tensor((1, 16, 9, 41)), init=INIT),
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
            (1, 16, 5, 100),
        )
    ),
    workload("general", tensor((2, 6, 17, 19)), init=(6, 4, 5, 2, 2, 1, 2, True), weights="drawn"),
    workload("full", tensor((16, 16, 1024, 1024), UNIFORM), init=(16, 128, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv2d",
        "2d convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="d1*9",
        prompt="Apply a 2d convolution.",
    ),
    problems=(
        63,
        55,
    ),
    words=(r"conv\w* ?2 ?d", r"2 ?d conv\w*", r"convolution"),
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
        r"asymmetric",
        r"dilated?",
    ),
    vocabulary=frozenset(
        {"conv", "convolution", "conv2d", "2d", "forward", "direct", "im2col", "gemm"}
    ),
)
