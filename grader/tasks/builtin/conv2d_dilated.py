"""2d convolution, dilated and padded (KernelBench level 1, problem 80)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """2d convolution, dilated and padded."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: int = 1,
        padding: tuple = (0, 0),
        dilation: tuple = (1, 1),
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
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)
'''

SIZES = WindowSizes(
    init=(16, 8, [5, 9], 1, [2, 4], [2, 3]),
    nominal=((2, 16, 20, 24),),
    stress=(1, 16, 20, 30),
    general=((1, 16, 5, 17), (3, 16, 7, 21)),
    other=(2, 6, 17, 19),
    other_init=(6, 4, [3, 5], 2, [1, 2], [1, 2], True),
    full=(8, 32, 512, 512),
    full_init=(32, 64, [5, 9], 1, [2, 4], [2, 3]),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-dilated",
        "2d convolution, dilated and padded",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="d1*45",
        prompt="Apply a 2d convolution, dilated and padded.",
    ),
    prior=-1.5,
    problems=(80,),
    words=(
        r"dilated conv\w*",
        r"dilat\w+",
    ),
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
            "dilated",
            "padded",
        }
    ),
)
