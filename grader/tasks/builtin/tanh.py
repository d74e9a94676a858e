"""Tanh (KernelBench level 1, problem 22)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Tanh."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)
'''

ENTRY = Entry(
    task=builtin(
        "tanh",
        "Tanh",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "tanh"},
        prompt="Apply Tanh to a tensor.",
    ),
    problems=(22,),
    words=(r"tanh",),
    formulas=(r"torch\.tanh\(x\)", r"F\.tanh\(x", r"nn\.Tanh\("),
    against=(r"hard ?tanh", r"gelu", r"mish", r"tanh approx\w*"),
    vocabulary=frozenset({"tanh"}),
)
