"""Product of two upper triangular matrices (KernelBench level 1, problem 14)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two upper triangular matrices."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.triu(torch.matmul(A, B))
'''

WORKLOADS = (
    workload(
        "nominal", tensor((128, 128), structure="upper"), tensor((128, 128), structure="upper")
    ),
    workload(
        "stress",
        tensor((96, 96), UNIFORM, structure="upper"),
        tensor((96, 96), UNIFORM, structure="upper"),
        label="uniform",
    ),
    workload(
        "stress",
        tensor((96, 96), HEAVY, structure="upper"),
        tensor((96, 96), HEAVY, structure="upper"),
        label="heavy tails",
    ),
    workload(
        "stress",
        tensor((96, 96), LARGE, structure="upper"),
        tensor((96, 96), LARGE, structure="upper"),
        label="large",
    ),
    workload("general", tensor((1, 1), structure="upper"), tensor((1, 1), structure="upper")),
    workload("general", tensor((33, 33), structure="upper"), tensor((33, 33), structure="upper")),
    workload(
        "general", tensor((100, 100), structure="upper"), tensor((100, 100), structure="upper")
    ),
    workload(
        "full",
        tensor((4096, 4096), UNIFORM, structure="upper"),
        tensor((4096, 4096), UNIFORM, structure="upper"),
    ),
)

ENTRY = Entry(
    task=builtin(
        "matmul-upper",
        "Product of two upper triangular matrices",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply two upper triangular matrices.",
    ),
    prior=-1.5,
    problems=(14,),
    words=(
        r"upper triang\w+( mat ?mul)?",
        r"triu( mat ?mul)?",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.triu\(torch\.matmul\(A,B\)\)",),
    against=(r"lower triang\w+",),
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
            "upper",
            "triangular",
            "triu",
            "tri",
        }
    ),
)
