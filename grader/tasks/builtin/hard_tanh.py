"""Hard tanh (KernelBench level 1, problem 32)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Hard tanh."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardtanh(x, min_val=-1.0, max_val=1.0)
'''

ENTRY = Entry(
    task=builtin(
        "hard-tanh",
        "Hard tanh",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "hardtanh", "scalars": {"low": -1.0, "high": 1.0}},
        prompt="Apply Hard tanh to a tensor.",
    ),
    problems=(32,),
    words=(r"hard ?tanh",),
    formulas=(r"F\.hardtanh\(x", r"functional\.hardtanh\(x", r"nn\.Hardtanh\("),
    against=(),
    vocabulary=frozenset({"hard", "tanh", "hardtanh", "clamp"}),
)
