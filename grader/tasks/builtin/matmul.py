"""Matrix product (KernelBench level 1, problems 2, 6, 7, 8, 9)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)
'''

WORKLOADS = (
    workload("nominal", tensor((64, 256)), tensor((256, 128))),
    workload("nominal", tensor((131, 93)), tensor((93, 147))),
    workload("nominal", tensor((16, 8192)), tensor((8192, 16))),
    workload("nominal", tensor((160, 64)), tensor((64, 160))),
    workload("stress", tensor((64, 128), UNIFORM), tensor((128, 64), UNIFORM), label="uniform"),
    workload("stress", tensor((64, 128), HEAVY), tensor((128, 64), HEAVY), label="heavy tails"),
    workload("stress", tensor((64, 128), LARGE), tensor((128, 64), LARGE), label="large"),
    workload("general", tensor((1, 1)), tensor((1, 1))),
    workload("general", tensor((1, 31)), tensor((31, 33))),
    workload("general", tensor((33, 1000)), tensor((1000, 5))),
    workload("general", tensor((65, 17)), tensor((17, 129))),
    workload("full", tensor((2048, 8192), UNIFORM), tensor((8192, 4096), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "matmul",
        "Matrix product",
        REFERENCE,
        workloads=WORKLOADS,
        family="matmul",
        parameters={},
        reduction_length="d1",
        prompt="Multiply two matrices of any sizes that fit.",
    ),
    inside=(r"int\w*[MK]\b", r"int\w*[mk]\b", r"A\.size\(0\).*A\.size\(1\)"),
    problems=(
        2,
        6,
        7,
        8,
        9,
    ),
    words=(
        r"matrix multiplication",
        r"mat ?mul",
        r"gemm",
        r"tall skinny",
        r"irregular shapes",
        r"large k",
        r"small k",
    ),
    formulas=(r"torch\.matmul\(A,B\)",),
    against=(
        r"square",
        r"batched",
        r"transpose[ds]?",
        r"triangular",
        r"symmetric",
        r"diagonal",
        r"vector",
        r"conv\w*",
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
            "tall",
            "skinny",
            "irregular",
            "large",
            "small",
            "k",
        }
    ),
)
