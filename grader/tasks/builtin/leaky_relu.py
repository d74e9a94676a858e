"""Leaky ReLU (KernelBench level 1, problem 20)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Leaky ReLU."""

    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, negative_slope=self.negative_slope)
'''

ENTRY = Entry(
    task=builtin(
        "leaky-relu",
        "Leaky ReLU",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "leaky-relu", "init": {"negative_slope": [0.01, "alpha"]}},
        prompt="Apply Leaky ReLU to a tensor.",
    ),
    problems=(20,),
    words=(r"leaky ?relu", r"lrelu"),
    formulas=(r"F\.leaky_relu\(x", r"functional\.leaky_relu\(x", r"nn\.LeakyReLU\("),
    against=(r"prelu",),
    vocabulary=frozenset({"leaky", "relu", "leakyrelu"}),
)
