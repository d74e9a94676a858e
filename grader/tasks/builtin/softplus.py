"""Softplus (KernelBench level 1, problem 29)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Softplus."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softplus(x)
'''

ENTRY = Entry(
    task=builtin(
        "softplus",
        "Softplus",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "softplus"},
        prompt="Apply Softplus to a tensor.",
    ),
    problems=(29,),
    words=(r"soft ?plus",),
    formulas=(r"F\.softplus\(x", r"functional\.softplus\(x", r"nn\.Softplus\("),
    against=(r"mish",),
    vocabulary=frozenset({"softplus", "soft", "plus", "exp", "log"}),
)
