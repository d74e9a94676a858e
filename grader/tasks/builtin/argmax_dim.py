"""Index of the maximum over a dim (KernelBench level 1, problem 51)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import reduction

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Argmax over a dim."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.argmax(x, dim=self.dim)
'''

ENTRY = Entry(
    task=builtin(
        "argmax-dim",
        "Argmax over a dim",
        REFERENCE,
        workloads=reduction(places=True),
        family="arg-reduce",
        parameters={"op": "argmax"},
        reduction_length="1",
        prompt="Return the index of the maximum of a 3-D tensor over a dim.",
    ),
    problems=(51,),
    words=(r"arg ?max",),
    formulas=(r"torch\.argmax\(x", r"x\.argmax\("),
    against=(r"arg ?min",),
    vocabulary=frozenset({"argmax", "arg", "max", "reduce", "reduction", "dim", "index"}),
)
