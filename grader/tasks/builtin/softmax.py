"""Softmax over rows (KernelBench level 1, problem 23)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import CONSTANT, HEAVY, NEGATIVE, UNIFORM, rows

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax over dim 1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)
'''

ENTRY = Entry(
    task=builtin(
        "softmax",
        "Softmax over rows",
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
        parameters={"log": False},
        reduction_length="d1",
        prompt="Apply softmax along dim 1 of a matrix.",
    ),
    problems=(23,),
    words=(r"softmax",),
    formulas=(r"torch\.softmax\(x,dim=1\)", r"F\.softmax\(x", r"nn\.Softmax\("),
    against=(r"log softmax", r"logsoftmax", r"attention", r"cross entropy"),
    vocabulary=frozenset({"softmax", "exp", "max", "sum", "row", "reduce", "online"}),
)
