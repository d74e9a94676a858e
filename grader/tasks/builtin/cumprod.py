"""Cumulative product (KernelBench level 1, problem 90)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import UNIFORM, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Cumulative product."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumprod(x, dim=self.dim)
'''

NEAR_ONE: Values = ("signed_uniform", 0.97, 1.03)
"""Thousands of these multiply up to something that neither vanishes nor overflows."""

WORKLOADS = (
    workload("nominal", tensor((4, 16384), NEAR_ONE), init=(1,)),
    workload("nominal", tensor((130, 512), NEAR_ONE), init=(1,)),
    *(
        workload("stress", tensor((3, 4096), values), label=label, init=(1,))
        for label, values in (
            ("uniform", UNIFORM),
            ("near one", NEAR_ONE),
        )
    ),
    *(
        workload("general", tensor(shape, NEAR_ONE), init=(1,))
        for shape in ((1, 1), (1, 31), (3, 33), (5, 1000), (7, 1023))
    ),
    workload("general", tensor((100, 33), NEAR_ONE), init=(0,)),
    workload("full", tensor((32768, 32768), UNIFORM), init=(1,)),
)

ENTRY = Entry(
    task=builtin(
        "cumprod",
        "Cumulative product",
        REFERENCE,
        workloads=WORKLOADS,
        family="scan",
        parameters={"op": "cumprod"},
        reduction_length="d1",
        prompt="Compute the cumulative product of a matrix along a dim.",
    ),
    problems=(90,),
    words=(r"cum ?prod(uct)?", r"cumulative product", r"prefix product"),
    formulas=(r"torch\.cumprod\(x,dim=", r"x\.cumprod\("),
    against=(r"cum ?sum",),
    vocabulary=frozenset({"cumprod", "scan", "prefix", "product", "cumulative", "prod"}),
)
