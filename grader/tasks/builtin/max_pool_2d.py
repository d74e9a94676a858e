"""Max pooling 2d (KernelBench level 1, problem 42)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Max pooling 2d."""

    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride, padding, dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (4, 1, 1, 1)

WORKLOADS = (
    *(workload("nominal", tensor(shape), init=INIT) for shape in ((2, 8, 64, 64), (1, 5, 63, 100))),
    *(
        workload("stress", tensor((2, 4, 32, 32), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in ((1, 1, 7, 31), (1, 3, 33, 4), (3, 2, 5, 100))
    ),
    workload("general", tensor((2, 3, 33, 40)), init=(3, 2, 1, 2)),
    workload("full", tensor((32, 64, 512, 512), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "max-pool-2d",
        "Max pooling 2d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "max", "dims": 2},
        reduction_length="1",
        prompt="Apply max pooling 2d.",
    ),
    problems=(42,),
    words=(r"max\w* ?pool\w* ?2 ?d", r"2 ?d max\w* ?pool\w*", r"max\w* ?pool\w*"),
    formulas=(r"nn\.MaxPool2d\(", r"F\.max_pool2d\("),
    against=(
        r"\w*pool\w* ?[13] ?d",
        r"[13] ?d [a-z]+ ?pool\w*",
        r"avg|average ?pool\w*",
        r"adaptive",
        r"global",
    ),
    vocabulary=frozenset(
        {
            "max",
            "pool",
            "pooling",
            "maxpool",
            "2d",
            "maxpool2d",
            "pool2d",
            "forward",
            "maximum",
        }
    ),
)
