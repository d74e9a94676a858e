"""Maximum over a dim (KernelBench level 1, problem 49)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Maximum over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.max(x, dim=self.dim)[0]
'''

ENTRY = Entry(
    task=builtin(
        "max-dim",
        "Maximum over a dim",
        REFERENCE,
        workloads=reduction(),
        family="reduce",
        parameters={"op": "max"},
        reduction_length="1",
        prompt="Take the maximum of a 3-D tensor over a dim.",
    ),
    problems=(49,),
    words=(
        r"max reduc\w+",
        r"reduc\w+ max",
        r"max over",
        r"max dim",
        r"max along",
        r"maximum (value )?(over|along)",
    ),
    formulas=(
        r"torch\.max\(x,dim=self\.dim\)\[0\]",
        r"torch\.max\(x,dim=",
        r"x\.max\(dim=",
        r"torch\.amax\(",
    ),
    against=(r"arg ?max", r"max ?pool\w*", r"softmax"),
    vocabulary=frozenset({"max", "reduce", "reduction", "dim", "maximum"}),
)
