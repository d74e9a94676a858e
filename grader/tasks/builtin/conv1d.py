"""1d convolution (KernelBench level 1, problem 67)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """1d convolution."""

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
        self.conv1d = nn.Conv1d(
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
        return self.conv1d(x)
'''

INIT = (16, 32, 3)

WORKLOADS = (
    workload("nominal", tensor((4, 16, 512)), init=INIT),
    *(
        workload("stress", tensor((2, 16, 128), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 16, 3),
            (3, 16, 31),
            (2, 16, 1000),
        )
    ),
    workload("general", tensor((2, 6, 100)), init=(6, 5, 5, 2, 2, 2, 1, True), weights="drawn"),
    workload("full", tensor((32, 64, 131072), UNIFORM), init=(64, 128, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv1d",
        "1d convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 1, "transposed": False},
        reduction_length="d1*3",
        prompt="Apply a 1d convolution.",
    ),
    problems=(67,),
    words=(r"conv\w* ?1 ?d", r"1 ?d conv\w*", r"convolution"),
    formulas=(r"nn\.Conv1d\(", r"F\.conv1d\("),
    against=(
        r"conv\w* ?[23] ?d",
        r"[23] ?d conv\w*",
        r"transposed?",
        r"relu",
        r"bias add",
        r"dilated?",
    ),
    vocabulary=frozenset(
        {"conv", "convolution", "conv1d", "1d", "forward", "direct", "im2col", "gemm"}
    ),
)
