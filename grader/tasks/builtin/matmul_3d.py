"""Product of a 3-D tensor and a matrix (KernelBench level 1, problem 10)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of a 3-D tensor and a matrix."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((2, 32, 128)), tensor((128, 96))),
    workload("nominal", tensor((3, 17, 65)), tensor((65, 33))),
    workload("stress", tensor((2, 32, 64), UNIFORM), tensor((64, 32), UNIFORM), label="uniform"),
    workload("stress", tensor((2, 32, 64), HEAVY), tensor((64, 32), HEAVY), label="heavy tails"),
    workload("stress", tensor((2, 32, 64), LARGE), tensor((64, 32), LARGE), label="large"),
    workload("general", tensor((1, 1, 1)), tensor((1, 1))),
    workload("general", tensor((1, 31, 33)), tensor((33, 5))),
    workload("general", tensor((5, 7, 100)), tensor((100, 9))),
    workload("full", tensor((16, 1024, 2048), UNIFORM), tensor((2048, 768), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-3d",
        "Product of a 3-D tensor and a matrix",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d2",
        prompt="Multiply a 3-D tensor by a matrix along its last dim.",
    ),
    prior=-1.5,
    problems=(10,),
    words=(
        r"3 ?d tensor",
        r"3 ?d mat ?mul",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A,B\)",),
    against=(r"4 ?d", r"batched", r"einsum"),
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
            "3d",
            "tensor",
            "tensor3d",
        }
    ),
)
