"""Logarithm of the softmax over rows (KernelBench level 1, problem 24)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import CONSTANT, HEAVY, NEGATIVE, UNIFORM, rows

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Log-softmax over a dim."""

    def __init__(self, dim: int = 1):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(x, dim=self.dim)
'''

ENTRY = Entry(
    task=builtin(
        "log-softmax",
        "Log-softmax over rows",
        REFERENCE,
        workloads=rows(
            nominal=((3, 49152), (64, 1024)),
            stress_shape=(3, 8192),
            stress=(
                ("uniform", UNIFORM),
                ("negative", NEGATIVE),
                ("heavy tails", HEAVY),
                ("wide", ("normal", 0.0, 8.0)),
                ("constant", CONSTANT),
            ),
            extreme=(("large", ("large", 0.0, 100.0)), ("offset", ("normal", 500.0, 4.0))),
            full=(4096, 393216),
        ),
        family="softmax",
        parameters={"log": True},
        reduction_length="d1",
        prompt="Apply log-softmax along dim 1 of a matrix.",
    ),
    inside=(r"logf?\(", r"log1pf?\("),
    problems=(24,),
    words=(r"log ?softmax",),
    formulas=(r"(torch|F)\.log_softmax\(x", r"nn\.LogSoftmax\("),
    against=(r"attention", r"cross entropy", r"nll"),
    vocabulary=frozenset(
        {"log", "softmax", "exp", "max", "sum", "row", "reduce", "online", "logsumexp"}
    ),
)
