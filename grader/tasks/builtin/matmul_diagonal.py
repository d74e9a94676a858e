"""Diagonal matrix times matrix (KernelBench level 1, problem 12)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Diagonal matrix times matrix."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.diag(A) @ B
'''

WORKLOADS = (
    workload("nominal", tensor((256,)), tensor((256, 512))),
    workload("nominal", tensor((411,)), tensor((411, 387))),
    workload("stress", tensor((128,), UNIFORM), tensor((128, 256), UNIFORM), label="uniform"),
    workload("stress", tensor((128,), HEAVY), tensor((128, 256), HEAVY), label="heavy tails"),
    workload("stress", tensor((128,), LARGE), tensor((128, 256), LARGE), label="large"),
    workload("general", tensor((1,)), tensor((1, 1))),
    workload("general", tensor((31,)), tensor((31, 33))),
    workload("general", tensor((100,)), tensor((100, 7))),
    workload("general", tensor((33,)), tensor((33, 1023))),
    workload("full", tensor((4096,), UNIFORM), tensor((4096, 4096), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-diagonal",
        "Diagonal matrix times matrix",
        REFERENCE,
        workloads=WORKLOADS,
        family="diag-matmul",
        parameters={},
        reduction_length="1",
        prompt="Multiply a diagonal matrix, given by its diagonal, by a matrix.",
    ),
    prior=-0.75,
    problems=(12,),
    words=(
        r"diag\w*( matri\w+)?( mat ?mul| multiplication)?",
        r"diagonal",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.diag\(A\)@B",),
    against=(r"triangular", r"mask"),
    vocabulary=frozenset(
        {
            "matmul",
            "mm",
            "gemm",
            "matrix",
            "multiply",
            "multiplication",
            "mul",
            "tiled",
            "shared",
            "diag",
            "diagonal",
            "row",
            "scale",
        }
    ),
)
