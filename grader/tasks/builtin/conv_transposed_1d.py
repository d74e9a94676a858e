"""1d transposed convolution (KernelBench level 1, problem 64)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """1d transposed convolution."""

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
        self.conv1d_transpose = nn.ConvTranspose1d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d_transpose(x)
'''

INIT = (16, 32, 3)

WORKLOADS = (
    workload("nominal", tensor((4, 16, 256)), init=INIT),
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
            (1, 16, 1),
            (3, 16, 31),
            (2, 16, 1000),
        )
    ),
    workload("general", tensor((2, 6, 100)), init=(6, 4, 5, 2, 2, 1, 2, True), weights="drawn"),
    workload("full", tensor((64, 128, 65536), UNIFORM), init=(128, 128, 3)),
)

ENTRY = Entry(
    task=builtin(
        "conv-transposed-1d",
        "1d transposed convolution",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 1, "transposed": True},
        reduction_length="d1*3",
        prompt="Apply a 1d transposed convolution.",
    ),
    problems=(64,),
    words=(
        r"conv\w* ?transposed? ?1 ?d",
        r"transposed? conv\w* ?1 ?d",
        r"1 ?d transposed? conv\w*",
        r"transposed? conv\w*",
        r"conv\w* ?transposed?",
    ),
    formulas=(r"nn\.ConvTranspose1d\(", r"F\.conv_transpose1d\("),
    against=(r"(conv\w*|transposed?) ?[23] ?d", r"[23] ?d (transposed? )?conv\w*"),
    vocabulary=frozenset(
        {"conv", "convolution", "transpose", "transposed", "conv1d", "1d", "deconv", "forward"}
    ),
)
