"""Matrix-vector product (KernelBench level 1, problem 4)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix-vector product."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((16, 8192)), tensor((8192, 1))),
    workload("nominal", tensor((300, 511)), tensor((511, 1))),
    workload("stress", tensor((32, 2048), UNIFORM), tensor((2048, 1), UNIFORM), label="uniform"),
    workload("stress", tensor((32, 2048), HEAVY), tensor((2048, 1), HEAVY), label="heavy tails"),
    workload("stress", tensor((32, 2048), LARGE), tensor((2048, 1), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((1, 31)), tensor((31, 1))),
    workload("general", tensor((33, 1000)), tensor((1000, 1))),
    workload("general", tensor((7, 1023)), tensor((1023, 1))),
    workload("full", tensor((2048, 1048576), UNIFORM), tensor((1048576, 1), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matrix-vector",
        "Matrix-vector product",
        REFERENCE,
        workloads=WORKLOADS,
        family="matvec",
        parameters={},
        reduction_length="d1",
        prompt="Multiply a matrix by a column vector.",
    ),
    prior=-0.75,
    problems=(4,),
    words=(
        r"matrix vector( multiplication| product)?",
        r"mat ?vec( mul)?",
        r"gemv",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A,B\)", r"torch\.mv\("),
    against=(r"batched", r"square"),
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
            "matvec",
            "vec",
            "vector",
            "gemv",
            "mv",
        }
    ),
)
