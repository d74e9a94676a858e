"""Product of two symmetric matrices (KernelBench level 1, problem 13)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two symmetric matrices."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
'''

WORKLOADS = (
    workload(
        "nominal",
        tensor((128, 128), structure="symmetric"),
        tensor((128, 128), structure="symmetric"),
    ),
    workload(
        "stress",
        tensor((96, 96), UNIFORM, structure="symmetric"),
        tensor((96, 96), UNIFORM, structure="symmetric"),
        label="uniform",
    ),
    workload(
        "stress",
        tensor((96, 96), HEAVY, structure="symmetric"),
        tensor((96, 96), HEAVY, structure="symmetric"),
        label="heavy tails",
    ),
    workload(
        "stress",
        tensor((96, 96), LARGE, structure="symmetric"),
        tensor((96, 96), LARGE, structure="symmetric"),
        label="large",
    ),
    workload(
        "general", tensor((1, 1), structure="symmetric"), tensor((1, 1), structure="symmetric")
    ),
    workload(
        "general", tensor((33, 33), structure="symmetric"), tensor((33, 33), structure="symmetric")
    ),
    workload(
        "general",
        tensor((100, 100), structure="symmetric"),
        tensor((100, 100), structure="symmetric"),
    ),
    workload(
        "full",
        tensor((4096, 4096), UNIFORM, structure="symmetric"),
        tensor((4096, 4096), UNIFORM, structure="symmetric"),
    ),
)

ENTRY = Entry(
    task=builtin(
        "matmul-symmetric",
        "Product of two symmetric matrices",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply two symmetric matrices.",
    ),
    prior=-1.5,
    problems=(13,),
    words=(
        r"symmetric( matri\w+| mat ?mul)?",
        r"symm( mat ?mul)?",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A,B\)",),
    against=(r"triangular", r"asymmetric"),
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
            "symmetric",
            "symm",
        }
    ),
)
