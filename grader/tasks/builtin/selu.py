"""SELU (KernelBench level 1, problem 27)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """SELU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.selu(x)
'''

ENTRY = Entry(
    task=builtin(
        "selu",
        "SELU",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "selu"},
        prompt="Apply SELU to a tensor.",
    ),
    problems=(27,),
    words=(r"selu",),
    formulas=(r"torch\.selu\(x\)", r"F\.selu\(x", r"nn\.SELU\(", r"1\.67326"),
    against=(),
    vocabulary=frozenset({"selu"}),
)
