"""Reverse cumulative sum (KernelBench level 1, problem 91)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, NORMAL, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Reverse cumulative sum."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x.flip(self.dim), dim=self.dim).flip(self.dim)
'''

WORKLOADS = (
    workload("nominal", tensor((4, 16384), NORMAL), init=(1,)),
    workload("nominal", tensor((130, 512), NORMAL), init=(1,)),
    *(
        workload("stress", tensor((3, 4096), values), label=label, init=(1,))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape, NORMAL), init=(1,))
        for shape in ((1, 1), (1, 31), (3, 33), (5, 1000), (7, 1023))
    ),
    workload("general", tensor((100, 33), NORMAL), init=(0,)),
    workload("full", tensor((32768, 32768), UNIFORM), init=(1,)),
)

ENTRY = Entry(
    task=builtin(
        "cumsum-reverse",
        "Reverse cumulative sum",
        REFERENCE,
        workloads=WORKLOADS,
        family="scan",
        parameters={"op": "cumsum-reverse"},
        reduction_length="d1",
        prompt="Compute the reverse cumulative sum of a matrix along a dim.",
    ),
    problems=(91,),
    words=(
        r"reverse cum ?sum",
        r"cum ?sum reverse",
        r"reverse cumulative",
        r"suffix sum",
        r"reverse scan",
    ),
    usual=(r"cum ?sum", r"cumulative sum", r"prefix sum", r"scan"),
    formulas=(r"torch\.cumsum\(x\.flip\(self\.dim\)", r"\.flip\("),
    against=(r"exclusive", r"masked?"),
    vocabulary=frozenset({"cumsum", "scan", "prefix", "suffix", "sum", "cumulative", "reverse"}),
)
