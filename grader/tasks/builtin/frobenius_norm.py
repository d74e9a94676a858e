"""Division by the Frobenius norm (KernelBench level 1, problem 37)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, NORMAL, UNIFORM, one_input

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides a tensor by its Frobenius norm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = torch.norm(x, p="fro")
        return x / norm
'''

WORKLOADS = one_input(
    nominal=((4, 16, 48, 64), (7, 64, 16, 16)),
    nominal_values=NORMAL,
    general=((1, 1, 1, 1), (1, 1, 1, 31), (3, 3, 3, 33), (5, 2, 10, 100), (2, 1, 33, 31)),
    stress=(
        ("uniform", UNIFORM),
        ("negative", NEGATIVE),
        ("heavy tails", HEAVY),
        ("large", LARGE),
    ),
    stress_shape=(4, 8, 32, 32),
    zeros=True,
    full=(112, 64, 512, 512),
)

ENTRY = Entry(
    task=builtin(
        "frobenius-norm",
        "Division by the Frobenius norm",
        REFERENCE,
        workloads=WORKLOADS,
        family="full-norm",
        parameters={"p": 2},
        reduction_length="d0*d1*d2*d3",
        prompt="Divide a whole tensor by its Frobenius norm.",
    ),
    problems=(37,),
    words=(r"frobenius( norm\w*)?",),
    formulas=(r"torch\.norm\(x,p=.fro.\)",),
    against=(r"l2 norm\w*", r"rms ?norm\w*"),
    vocabulary=frozenset(
        {"frobenius", "norm", "square", "sum", "sqrt", "reduce", "normalize", "divide", "scale"}
    ),
)
