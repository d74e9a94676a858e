"""3d transposed convolution (KernelBench level 1, problem 61)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """3d transposed convolution."""

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
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            (kernel_size, kernel_size, kernel_size),
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose3d(x)
'''

INIT = (4, 8, 3)

WORKLOADS = (
    workload("nominal", tensor((2, 4, 10, 10, 10)), init=INIT),
    *(
        workload("stress", tensor((1, 4, 6, 6, 6), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 4, 1, 1, 1),
            (2, 4, 5, 7, 3),
        )
    ),
    workload("general", tensor((2, 4, 5, 6, 7)), init=(4, 6, 3, 2, 1, 1, 2, True), weights="drawn"),
    workload("full", tensor((8, 48, 64, 64, 64), UNIFORM), init=(48, 48, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv-transposed-3d",
        "3d transposed convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 3, "transposed": True},
        reduction_length="d1*27",
        prompt="Apply a 3d transposed convolution.",
    ),
    problems=(61,),
    words=(
        r"conv\w* ?transposed? ?3 ?d",
        r"transposed? conv\w* ?3 ?d",
        r"3 ?d transposed? conv\w*",
        r"transposed? conv\w*",
        r"conv\w* ?transposed?",
    ),
    formulas=(r"nn\.ConvTranspose3d\(", r"F\.conv_transpose3d\("),
    against=(r"(conv\w*|transposed?) ?[12] ?d", r"[12] ?d (transposed? )?conv\w*"),
    vocabulary=frozenset(
        {"conv", "convolution", "transpose", "transposed", "conv3d", "3d", "deconv", "forward"}
    ),
)
