"""Product of a 4-D tensor and a matrix (KernelBench level 1, problem 11)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of a 4-D tensor and a matrix."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bijl,lk->bijk", A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((2, 4, 8, 64)), tensor((64, 96))),
    workload("nominal", tensor((1, 3, 7, 65)), tensor((65, 33))),
    workload("stress", tensor((2, 4, 8, 64), UNIFORM), tensor((64, 32), UNIFORM), label="uniform"),
    workload("stress", tensor((2, 4, 8, 64), HEAVY), tensor((64, 32), HEAVY), label="heavy tails"),
    workload("stress", tensor((2, 4, 8, 64), LARGE), tensor((64, 32), LARGE), label="large"),
    workload("general", tensor((1, 1, 1, 1)), tensor((1, 1))),
    workload("general", tensor((2, 3, 5, 31)), tensor((31, 33))),
    workload("full", tensor((8, 256, 512, 256), UNIFORM), tensor((256, 768), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-4d",
        "Product of a 4-D tensor and a matrix",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d3",
        prompt="Multiply a 4-D tensor by a matrix along its last dim.",
    ),
    prior=-1.5,
    problems=(11,),
    words=(
        r"4 ?d tensor",
        r"4 ?d mat ?mul",
        r"einsum",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"bijl,lk->bijk",),
    against=(r"3 ?d tensor",),
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
            "4d",
            "tensor",
            "einsum",
            "tensor4d",
        }
    ),
)
