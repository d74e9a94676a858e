"""2d transposed convolution (KernelBench level 1, problem 57)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """2d transposed convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            (kernel_size, kernel_size),
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose2d(x)
'''

INIT = (16, 32, 3)

WORKLOADS = (
    workload("nominal", tensor((2, 16, 18, 18)), init=INIT),
    workload("nominal", tensor((1, 16, 9, 33)), init=INIT),
    *(
        workload("stress", tensor((1, 16, 10, 10), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 16, 1, 1),
            (3, 16, 7, 11),
            (1, 16, 5, 100),
        )
    ),
    workload("general", tensor((2, 6, 17, 19)), init=(6, 4, 5, 2, 2, 1, 2, True), weights="drawn"),
    workload("full", tensor((8, 64, 1024, 1024), UNIFORM), init=(64, 64, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv-transposed-2d",
        "2d transposed convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 2, "transposed": True},
        reduction_length="d1*9",
        prompt="Apply a 2d transposed convolution.",
    ),
    problems=(57,),
    words=(
        r"conv\w* ?transposed? ?2 ?d",
        r"transposed? conv\w* ?2 ?d",
        r"2 ?d transposed? conv\w*",
        r"transposed? conv\w*",
        r"conv\w* ?transposed?",
    ),
    formulas=(r"nn\.ConvTranspose2d\(", r"F\.conv_transpose2d\("),
    against=(r"(conv\w*|transposed?) ?[13] ?d", r"[13] ?d (transposed? )?conv\w*"),
    vocabulary=frozenset(
        {"conv", "convolution", "transpose", "transposed", "conv2d", "2d", "deconv", "forward"}
    ),
)
