"""Swish (SiLU) (KernelBench level 1, problem 25)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Swish (SiLU)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)
'''

ENTRY = Entry(
    task=builtin(
        "swish",
        "Swish (SiLU)",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "silu"},
        prompt="Apply Swish (SiLU) to a tensor.",
    ),
    problems=(25,),
    words=(r"swish", r"silu"),
    formulas=(r"x\*torch\.sigmoid\(x\)", r"F\.silu\(x", r"nn\.SiLU\("),
    against=(r"hard ?swish", r"swiglu"),
    vocabulary=frozenset({"swish", "silu", "sigmoid"}),
)
