"""Sum over a dim, which is kept (KernelBench level 1, problem 47)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Sum over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=self.dim, keepdim=True)
'''

ENTRY = Entry(
    task=builtin(
        "sum-dim",
        "Sum over a dim",
        REFERENCE,
        workloads=reduction(),
        family="reduce",
        parameters={"op": "sum"},
        reduction_length="d1",
        prompt="Sum a 3-D tensor over a dim that is kept with size 1.",
    ),
    problems=(47,),
    words=(r"sum reduc\w+", r"reduc\w+ sum", r"sum over", r"sum dim", r"sum along"),
    formulas=(
        r"torch\.sum\(x,dim=self\.dim,keepdim=True\)",
        r"torch\.sum\(x,dim=",
        r"x\.sum\(dim=",
    ),
    against=(r"cum ?sum", r"mean reduc\w+", r"prefix", r"norm\w*"),
    vocabulary=frozenset({"sum", "reduce", "reduction", "dim"}),
)
