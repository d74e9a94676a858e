"""Softsign (KernelBench level 1, problem 30)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Softsign."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (1 + torch.abs(x))
'''

ENTRY = Entry(
    task=builtin(
        "softsign",
        "Softsign",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "softsign"},
        prompt="Apply Softsign to a tensor.",
    ),
    problems=(30,),
    words=(r"soft ?sign",),
    formulas=(r"x/\(1\+torch\.abs\(x\)\)", r"F\.softsign\(x", r"nn\.Softsign\("),
    against=(),
    vocabulary=frozenset({"softsign", "soft", "sign", "abs"}),
)
