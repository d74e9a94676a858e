"""Product of two lower triangular matrices (KernelBench level 1, problem 15)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two lower triangular matrices."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.tril(torch.matmul(A, B))
'''

WORKLOADS = (
    workload(
        "nominal", tensor((128, 128), structure="lower"), tensor((128, 128), structure="lower")
    ),
    workload(
        "stress",
        tensor((96, 96), UNIFORM, structure="lower"),
        tensor((96, 96), UNIFORM, structure="lower"),
        label="uniform",
    ),
    workload(
        "stress",
        tensor((96, 96), HEAVY, structure="lower"),
        tensor((96, 96), HEAVY, structure="lower"),
        label="heavy tails",
    ),
    workload(
        "stress",
        tensor((96, 96), LARGE, structure="lower"),
        tensor((96, 96), LARGE, structure="lower"),
        label="large",
    ),
    workload("general", tensor((1, 1), structure="lower"), tensor((1, 1), structure="lower")),
    workload("general", tensor((33, 33), structure="lower"), tensor((33, 33), structure="lower")),
    workload(
        "general", tensor((100, 100), structure="lower"), tensor((100, 100), structure="lower")
    ),
    workload(
        "full",
        tensor((4096, 4096), UNIFORM, structure="lower"),
        tensor((4096, 4096), UNIFORM, structure="lower"),
    ),
)

ENTRY = Entry(
    task=builtin(
        "matmul-lower",
        "Product of two lower triangular matrices",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply two lower triangular matrices.",
    ),
    prior=-1.5,
    problems=(15,),
    words=(
        r"lower triang\w+( mat ?mul)?",
        r"tril( mat ?mul)?",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.tril\(torch\.matmul\(A,B\)\)",),
    against=(r"upper triang\w+",),
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
            "lower",
            "triangular",
            "tril",
            "tri",
        }
    ),
)
