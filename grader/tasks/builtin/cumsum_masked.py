"""Masked cumulative sum (KernelBench level 1, problem 93)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, NORMAL, UNIFORM, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Masked cumulative sum."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x * mask, dim=self.dim)
'''

MASK: Values = ("randint", 0.0, 2.0)

WORKLOADS = (
    workload("nominal", tensor((4, 16384), NORMAL), tensor((4, 16384), MASK, "bool"), init=(1,)),
    workload("nominal", tensor((130, 512), NORMAL), tensor((130, 512), MASK, "bool"), init=(1,)),
    *(
        workload(
            "stress",
            tensor((3, 4096), values),
            tensor((3, 4096), MASK, "bool"),
            label=label,
            init=(1,),
        )
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape, NORMAL), tensor(shape, MASK, "bool"), init=(1,))
        for shape in ((1, 1), (1, 31), (3, 33), (5, 1000), (7, 1023))
    ),
    workload("general", tensor((100, 33), NORMAL), tensor((100, 33), MASK, "bool"), init=(0,)),
    workload(
        "full", tensor((32768, 32768), UNIFORM), tensor((32768, 32768), MASK, "bool"), init=(1,)
    ),
)

ENTRY = Entry(
    task=builtin(
        "cumsum-masked",
        "Masked cumulative sum",
        REFERENCE,
        workloads=WORKLOADS,
        family="scan",
        parameters={"op": "cumsum-masked"},
        reduction_length="d1",
        prompt="Compute the masked cumulative sum of a matrix along a dim.",
    ),
    problems=(93,),
    words=(
        r"masked cum ?sum",
        r"cum ?sum masked?",
        r"masked cumulative",
        r"masked scan",
    ),
    usual=(r"cum ?sum", r"cumulative sum", r"prefix sum", r"scan"),
    formulas=(r"torch\.cumsum\(x\*mask",),
    against=(r"reverse", r"exclusive"),
    vocabulary=frozenset({"cumsum", "scan", "prefix", "sum", "cumulative", "masked", "mask"}),
)
