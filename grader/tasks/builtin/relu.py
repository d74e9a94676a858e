"""Rectified linear unit (KernelBench level 1, problem 19)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """ReLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)
'''

ENTRY = Entry(
    task=builtin(
        "relu",
        "ReLU",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "relu"},
        prompt="Apply ReLU to a tensor.",
    ),
    problems=(19,),
    words=(r"relu",),
    formulas=(r"torch\.relu\(x\)", r"F\.relu\(x", r"nn\.ReLU\("),
    against=(r"leaky relu", r"leakyrelu", r"prelu", r"relu6", r"gelu"),
    vocabulary=frozenset({"relu"}),
)
