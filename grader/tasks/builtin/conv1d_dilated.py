"""1d convolution, dilated and strided (KernelBench level 1, problem 76)."""

from grader.tasks.builtin.convolution import STRESS
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """1d convolution, dilated and strided."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv1d = nn.Conv1d(
            in_channels, out_channels, kernel_size, stride=stride, dilation=dilation, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)
'''

SIZES = WindowSizes(
    init=(16, 32, 3, 3, 4),
    nominal=((4, 16, 512),),
    stress=(2, 16, 128),
    general=((1, 16, 9), (3, 16, 31), (2, 16, 1000)),
    other=(2, 6, 100),
    other_init=(6, 5, 5, 2, 2, True),
    full=(64, 64, 524280),
    full_init=(64, 128, 3, 3, 4),
)

ENTRY = Entry(
    task=builtin(
        "conv1d-dilated",
        "1d convolution, dilated and strided",
        REFERENCE,
        workloads=SIZES.workloads(STRESS, "drawn"),
        family="conv",
        parameters={"dims": 1, "transposed": False},
        reduction_length="d1*3",
        prompt="Apply a 1d convolution, dilated and strided.",
    ),
    prior=-1.5,
    problems=(76,),
    words=(r"dilated( strided)? conv\w*",),
    usual=(r"conv\w* ?1 ?d", r"conv\w*"),
    formulas=(r"nn\.Conv1d\(", r"F\.conv1d\("),
    against=(
        r"conv\w* ?[23] ?d",
        r"[23] ?d conv\w*",
        r"transposed?",
        r"padding",
        r"relu",
        r"bias add",
    ),
    vocabulary=frozenset(
        {
            "conv",
            "convolution",
            "conv1d",
            "1d",
            "forward",
            "direct",
            "im2col",
            "gemm",
            "dilated",
            "strided",
        }
    ),
)
