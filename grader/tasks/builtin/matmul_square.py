"""Square matrix product (KernelBench level 1, problem 1)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Square matrix product."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((128, 128)), tensor((128, 128))),
    workload("stress", tensor((96, 96), UNIFORM), tensor((96, 96), UNIFORM), label="uniform"),
    workload("stress", tensor((96, 96), HEAVY), tensor((96, 96), HEAVY), label="heavy tails"),
    workload("stress", tensor((96, 96), LARGE), tensor((96, 96), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((31, 31)), tensor((31, 31))),
    workload("general", tensor((33, 33)), tensor((33, 33))),
    workload("general", tensor((100, 100)), tensor((100, 100))),
    workload("full", tensor((4096, 4096), UNIFORM), tensor((4096, 4096), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-square",
        "Square matrix product",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply two square matrices.",
    ),
    prior=-0.75,
    outside=(r"int\w*[MK]\b", r"int\w*[mk]\b", r"A\.size\(0\).*A\.size\(1\)"),
    problems=(1,),
    words=(r"square matri\w+", r"matrix multiplication", r"mat ?mul", r"gemm"),
    formulas=(r"torch\.matmul\(A,B\)",),
    against=(
        r"irregular",
        r"batch\w*",
        r"tall",
        r"skinny",
        r"transpose[ds]?",
        r"triangular",
        r"symmetric",
        r"diagonal",
        r"vector",
    ),
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
            "square",
        }
    ),
)
