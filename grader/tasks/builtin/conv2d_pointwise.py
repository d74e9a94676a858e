"""Pointwise 2d convolution (KernelBench level 1, problem 87)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Pointwise 2d convolution."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = False):
        super().__init__()
        self.conv1d = nn.Conv2d(
            in_channels, out_channels, kernel_size=1, stride=1, padding=0, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)
'''

SIZES = WindowSizes(
    init=(32, 64),
    nominal=((2, 32, 20, 20),),
    stress=(1, 32, 12, 12),
    general=((1, 32, 1, 1), (3, 32, 7, 11), (1, 32, 5, 100)),
    other=(2, 6, 17, 19),
    other_init=(6, 5, True),
    full=(16, 64, 1024, 1024),
    full_init=(64, 128),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-pointwise",
        "Pointwise 2d convolution",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="d1",
        prompt="Apply a pointwise 2d convolution.",
    ),
    prior=-1.5,
    problems=(87,),
    words=(
        r"point ?wise( conv\w*)?( 2 ?d)?",
        r"1 ?x ?1 conv\w*",
    ),
    usual=(r"conv\w* ?2 ?d", r"conv\w*"),
    formulas=(r"nn\.Conv2d\(", r"F\.conv2d\("),
    against=(
        r"conv\w* ?[13] ?d",
        r"[13] ?d conv\w*",
        r"transposed?",
        r"relu",
        r"bias add",
        r"separable",
        r"depth ?wise",
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
            "pointwise",
            "point",
            "wise",
            "1x1",
        }
    ),
)
