"""Average pooling 2d (KernelBench level 1, problem 45)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Average pooling 2d."""

    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (11,)

WORKLOADS = (
    *(
        workload("nominal", tensor(shape), init=INIT)
        for shape in ((2, 8, 88, 88), (1, 5, 128, 128))
    ),
    *(
        workload("stress", tensor((2, 4, 33, 44), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in ((1, 1, 11, 31), (1, 3, 33, 12), (3, 2, 25, 100))
    ),
    workload("general", tensor((2, 3, 33, 40)), init=(3, 2, 1)),
    workload("full", tensor((16, 64, 2048, 2048), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "avg-pool-2d",
        "Average pooling 2d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "avg", "dims": 2},
        reduction_length="121",
        prompt="Apply average pooling 2d.",
    ),
    problems=(45,),
    words=(
        r"(avg|average)\w* ?pool\w* ?2 ?d",
        r"2 ?d (avg|average)\w* ?pool\w*",
        r"(avg|average)\w* ?pool\w*",
    ),
    formulas=(r"nn\.AvgPool2d\(", r"F\.avg_pool2d\("),
    against=(
        r"\w*pool\w* ?[13] ?d",
        r"[13] ?d [a-z]+ ?pool\w*",
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
            "2d",
            "avgpool2d",
            "pool2d",
            "forward",
            "maximum",
        }
    ),
)
