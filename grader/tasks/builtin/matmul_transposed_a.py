"""Matrix product with the first operand transposed (KernelBench level 1, problem 16)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product with the first operand transposed."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.T, B)
'''

WORKLOADS = (
    workload("nominal", tensor((256, 64)), tensor((256, 128))),
    workload("nominal", tensor((93, 67)), tensor((93, 131))),
    workload("stress", tensor((128, 64), UNIFORM), tensor((128, 64), UNIFORM), label="uniform"),
    workload("stress", tensor((128, 64), HEAVY), tensor((128, 64), HEAVY), label="heavy tails"),
    workload("stress", tensor((128, 64), LARGE), tensor((128, 64), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((31, 1)), tensor((31, 33))),
    workload("general", tensor((100, 33)), tensor((100, 5))),
    workload("general", tensor((17, 65)), tensor((17, 129))),
    workload("full", tensor((8192, 2048), UNIFORM), tensor((8192, 4096), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-transposed-a",
        "Matrix product with the first operand transposed",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d0",
        prompt="Multiply the transpose of a matrix by a matrix.",
    ),
    prior=-1.5,
    problems=(16,),
    words=(
        r"transposed? a",
        r"a transposed?",
        r"a t b",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A\.T,B\)", r"A\.T@B"),
    against=(r"transposed? (b|both)", r"both"),
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
            "transposed",
            "transpose",
            "a",
            "b",
            "both",
            "t",
            "at",
            "bt",
            "atb",
            "abt",
        }
    ),
)
