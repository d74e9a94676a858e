"""Batched matrix product (KernelBench level 1, problem 3)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Batched matrix product."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((4, 32, 64)), tensor((4, 64, 128))),
    workload("nominal", tensor((3, 33, 65)), tensor((3, 65, 31))),
    workload("stress", tensor((3, 32, 64), UNIFORM), tensor((3, 64, 32), UNIFORM), label="uniform"),
    workload("stress", tensor((3, 32, 64), HEAVY), tensor((3, 64, 32), HEAVY), label="heavy tails"),
    workload("stress", tensor((3, 32, 64), LARGE), tensor((3, 64, 32), LARGE), label="large"),
    workload("general", tensor((1, 1, 1)), tensor((1, 1, 1))),
    workload("general", tensor((1, 31, 33)), tensor((1, 33, 5))),
    workload("general", tensor((7, 20, 100)), tensor((7, 100, 9))),
    workload("full", tensor((128, 512, 1024), UNIFORM), tensor((128, 1024, 2048), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul-batched",
        "Batched matrix product",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d2",
        prompt="Multiply two batches of matrices.",
    ),
    prior=-0.75,
    problems=(3,),
    words=(
        r"batched mat\w*( multiplication| mul)?",
        r"batch mat ?mul",
        r"bmm",
    ),
    usual=(r"mat ?mul", r"gemm", r"matrix mul\w*"),
    formulas=(r"torch\.bmm\(",),
    against=(r"attention", r"transpose[ds]?"),
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
            "bmm",
            "batched",
            "batch",
        }
    ),
)
