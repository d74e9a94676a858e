"""Matrix product with both operands transposed (KernelBench level 1, problem 18)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product with both operands transposed."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.T, B.T)
'''

WORKLOADS = (
    workload("nominal", tensor((256, 64)), tensor((128, 256))),
    workload("nominal", tensor((93, 67)), tensor((131, 93))),
    workload("stress", tensor((128, 64), UNIFORM), tensor((64, 128), UNIFORM), label="uniform"),
    workload("stress", tensor((128, 64), HEAVY), tensor((64, 128), HEAVY), label="heavy tails"),
    workload("stress", tensor((128, 64), LARGE), tensor((64, 128), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((31, 1)), tensor((33, 31))),
    workload("general", tensor((100, 33)), tensor((5, 100))),
    workload("general", tensor((17, 65)), tensor((129, 17))),
    workload("full", tensor((8192, 2048), UNIFORM), tensor((4096, 8192), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-transposed-both",
        "Matrix product with both operands transposed",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d0",
        prompt="Multiply the transposes of two matrices.",
    ),
    prior=-1.5,
    problems=(18,),
    words=(
        r"transposed? both",
        r"both transposed?",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.matmul\(A\.T,B\.T\)", r"A\.T@B\.T"),
    against=(r"conv\w*",),
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
