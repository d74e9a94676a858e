"""Matrix times scalar (KernelBench level 1, problem 5)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix times scalar."""

    def forward(self, A: torch.Tensor, s: float) -> torch.Tensor:
        return A * s
'''

WORKLOADS = (
    workload("nominal", tensor((32, 4096)), 3.14),
    workload("nominal", tensor((128, 512)), -0.7),
    *(
        workload("stress", tensor((8, 2048), values), 3.14, label=label)
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), 3.14)
        for shape in ((1, 1), (1, 31), (3, 33), (5, 1000), (7, 1023))
    ),
    workload("full", tensor((65536, 16384), UNIFORM), 3.14),
)

ENTRY = Entry(
    task=builtin(
        "matrix-scalar",
        "Matrix times scalar",
        REFERENCE,
        workloads=WORKLOADS,
        family="elementwise",
        parameters={"op": "scale"},
        reduction_length="1",
        prompt="Multiply a matrix by a number.",
    ),
    problems=(5,),
    words=(r"matrix scalar( multiplication)?", r"scalar mul\w*", r"mat ?scalar( mul)?"),
    formulas=(r"returnA\*s",),
    against=(r"matrix vector",),
    vocabulary=frozenset({"matrix", "scalar", "mul", "multiply", "multiplication", "scale"}),
)
