"""Average pooling 1d (KernelBench level 1, problem 44)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Average pooling 1d."""

    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.pool = nn.AvgPool1d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (8, 1, 4)

WORKLOADS = (
    *(workload("nominal", tensor(shape), init=INIT) for shape in ((2, 16, 4096), (3, 7, 1025))),
    *(
        workload("stress", tensor((2, 8, 1024), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in ((1, 1, 31), (1, 3, 33), (5, 2, 1000))
    ),
    workload("general", tensor((2, 8, 1000)), init=(3, 2, 1)),
    workload("full", tensor((64, 128, 65536), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "avg-pool-1d",
        "Average pooling 1d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "avg", "dims": 1},
        reduction_length="8",
        prompt="Apply average pooling 1d.",
    ),
    problems=(44,),
    words=(
        r"(avg|average)\w* ?pool\w* ?1 ?d",
        r"1 ?d (avg|average)\w* ?pool\w*",
        r"(avg|average)\w* ?pool\w*",
    ),
    formulas=(r"nn\.AvgPool1d\(", r"F\.avg_pool1d\("),
    against=(
        r"\w*pool\w* ?[23] ?d",
        r"[23] ?d [a-z]+ ?pool\w*",
        r"max ?pool\w*",
        r"adaptive",
        r"global",
    ),
    vocabulary=frozenset(
        {
            "avg",
            "average",
            "pool",
            "pooling",
            "avgpool",
            "1d",
            "avgpool1d",
            "pool1d",
            "forward",
            "maximum",
        }
    ),
)
