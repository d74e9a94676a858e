"""Minimum over a dim (KernelBench level 1, problem 53)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Minimum over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.min(x, dim=self.dim)[0]
'''

ENTRY = Entry(
    task=builtin(
        "min-dim",
        "Minimum over a dim",
        REFERENCE,
        workloads=reduction(),
        family="reduce",
        parameters={"op": "min"},
        reduction_length="1",
        prompt="Take the minimum of a 3-D tensor over a dim.",
    ),
    problems=(53,),
    words=(
        r"min reduc\w+",
        r"reduc\w+ min",
        r"min over",
        r"min dim",
        r"min along",
        r"minimum (value )?(over|along)",
    ),
    formulas=(
        r"torch\.min\(x,dim=self\.dim\)\[0\]",
        r"torch\.min\(x,dim=",
        r"x\.min\(dim=",
        r"torch\.amin\(",
    ),
    against=(r"arg ?min",),
    vocabulary=frozenset({"min", "reduce", "reduction", "dim", "minimum"}),
)
