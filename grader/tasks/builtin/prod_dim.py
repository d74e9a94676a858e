"""Product over a dim (KernelBench level 1, problem 50 as of 2024)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.prod(x, dim=self.dim)
'''

NEAR_ONE: Values = ("signed_uniform", 0.9, 1.1)
"""The product of hundreds of these neither vanishes nor overflows."""

WORKLOADS = (
    workload("nominal", tensor((16, 64, 64), NEAR_ONE), init=(1,)),
    workload("nominal", tensor((2, 256, 255), NEAR_ONE), init=(1,)),
    workload("stress", tensor((4, 16, 63)), label="signed", init=(1,)),
    workload(
        "stress", tensor((4, 16, 63), ("heavy_tailed", 0.0, 1.0)), label="heavy tails", init=(1,)
    ),
    *(
        workload("general", tensor(shape, NEAR_ONE), init=(1,))
        for shape in ((1, 1, 1), (1, 31, 33), (3, 33, 1), (2, 100, 7))
    ),
    workload("general", tensor((3, 33, 100), NEAR_ONE), init=(2,)),
    workload("full", tensor((16, 256, 256), ("normal", 0.0, 1.0)), init=(1,)),
)

ENTRY = Entry(
    task=builtin(
        "prod-dim",
        "Product over a dim",
        REFERENCE,
        workloads=WORKLOADS,
        family="reduce",
        parameters={"op": "prod"},
        reduction_length="d1",
        prompt="Multiply up a 3-D tensor over a dim.",
    ),
    problems=(),
    words=(
        r"product reduc\w+",
        r"reduc\w+ product",
        r"prod (over|along|dim)",
        r"product (over|along)",
        r"prod reduc\w+",
    ),
    formulas=(r"torch\.prod\(x,dim=", r"x\.prod\(dim="),
    against=(r"cum ?prod", r"dot product", r"matrix", r"outer product"),
    vocabulary=frozenset({"product", "prod", "reduce", "reduction", "dim"}),
)
