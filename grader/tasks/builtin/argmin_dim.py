"""Index of the minimum over a dim (KernelBench level 1, problem 52)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Argmin over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.argmin(x, dim=self.dim)
'''

ENTRY = Entry(
    task=builtin(
        "argmin-dim",
        "Argmin over a dim",
        REFERENCE,
        workloads=reduction(places=True),
        family="arg-reduce",
        parameters={"op": "argmin"},
        reduction_length="1",
        prompt="Return the index of the minimum of a 3-D tensor over a dim.",
    ),
    problems=(52,),
    words=(r"arg ?min",),
    formulas=(r"torch\.argmin\(x", r"x\.argmin\("),
    against=(r"arg ?max",),
    vocabulary=frozenset({"argmin", "arg", "min", "reduce", "reduction", "dim", "index"}),
)
