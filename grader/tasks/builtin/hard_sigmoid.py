"""Hard sigmoid (KernelBench level 1, problem 28)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Hard sigmoid."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardsigmoid(x)
'''

ENTRY = Entry(
    task=builtin(
        "hard-sigmoid",
        "Hard sigmoid",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "hardsigmoid"},
        prompt="Apply Hard sigmoid to a tensor.",
    ),
    problems=(28,),
    words=(r"hard ?sigmoid",),
    formulas=(r"F\.hardsigmoid\(x", r"functional\.hardsigmoid\(x", r"nn\.Hardsigmoid\("),
    against=(r"hard ?swish",),
    vocabulary=frozenset({"hard", "sigmoid", "hardsigmoid"}),
)
