"""Matrix product with the second operand transposed (KernelBench level 1, problem 17)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product with the second operand transposed."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B.T)
'''

WORKLOADS = (
    workload("nominal", tensor((64, 256)), tensor((128, 256))),
    workload("nominal", tensor((67, 93)), tensor((131, 93))),
    workload("stress", tensor((64, 128), UNIFORM), tensor((64, 128), UNIFORM), label="uniform"),
    workload("stress", tensor((64, 128), HEAVY), tensor((64, 128), HEAVY), label="heavy tails"),
    workload("stress", tensor((64, 128), LARGE), tensor((64, 128), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((1, 31)), tensor((33, 31))),
    workload("general", tensor((33, 100)), tensor((5, 100))),
    workload("general", tensor((65, 17)), tensor((129, 17))),
    workload("full", tensor((2048, 8192), UNIFORM), tensor((4096, 8192), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-transposed-b",
        "Matrix product with the second operand transposed",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply a matrix by the transpose of a matrix.",
    ),
    prior=-1.5,
    problems=(17,),
    words=(
        r"transposed? b",
        r"b transposed?",
        r"a b t",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A,B\.T\)", r"A@B\.T"),
    against=(r"transposed? (a|both)", r"both"),
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
