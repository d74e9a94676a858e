"""Sigmoid (KernelBench level 1, problem 21)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Sigmoid."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)
'''

ENTRY = Entry(
    task=builtin(
        "sigmoid",
        "Sigmoid",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "sigmoid"},
        prompt="Apply Sigmoid to a tensor.",
    ),
    problems=(21,),
    words=(r"sigmoid",),
    formulas=(r"torch\.sigmoid\(x\)", r"F\.sigmoid\(x", r"nn\.Sigmoid\("),
    against=(r"hard ?sigmoid", r"swish", r"silu", r"x torch sigmoid"),
    vocabulary=frozenset({"sigmoid", "exp"}),
)
