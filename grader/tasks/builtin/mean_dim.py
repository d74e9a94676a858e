"""Mean over a dim (KernelBench level 1, problem 48)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mean(x, dim=self.dim)
'''

ENTRY = Entry(
    task=builtin(
        "mean-dim",
        "Mean over a dim",
        REFERENCE,
        workloads=reduction(),
        family="reduce",
        parameters={"op": "mean"},
        reduction_length="d1",
        prompt="Average a 3-D tensor over a dim.",
    ),
    problems=(48,),
    words=(r"mean reduc\w+", r"reduc\w+ mean", r"mean over", r"mean dim", r"mean along"),
    formulas=(r"torch\.mean\(x,dim=self\.dim\)", r"torch\.mean\(x,dim=", r"x\.mean\(dim="),
    against=(r"norm\w*", r"sum reduc\w+"),
    vocabulary=frozenset({"mean", "sum", "reduce", "reduction", "dim", "average"}),
)
