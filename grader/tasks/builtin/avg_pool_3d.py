"""Average pooling 3d (KernelBench level 1, problem 46)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Average pooling 3d."""

    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (3, 2, 1)

WORKLOADS = (
    *(
        workload("nominal", tensor(shape), init=INIT)
        for shape in ((2, 4, 24, 24, 32), (1, 3, 17, 20, 31))
    ),
    *(
        workload("stress", tensor((1, 4, 16, 16, 16), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in ((1, 1, 3, 9, 11), (2, 3, 8, 33, 7))
    ),
    workload("general", tensor((2, 3, 12, 10, 9)), init=(2, 2, 0)),
    workload("full", tensor((16, 32, 128, 128, 256), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "avg-pool-3d",
        "Average pooling 3d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "avg", "dims": 3},
        reduction_length="27",
        prompt="Apply average pooling 3d.",
    ),
    problems=(46,),
    words=(
        r"(avg|average)\w* ?pool\w* ?3 ?d",
        r"3 ?d (avg|average)\w* ?pool\w*",
        r"(avg|average)\w* ?pool\w*",
    ),
    formulas=(r"nn\.AvgPool3d\(", r"F\.avg_pool3d\("),
    against=(
        r"\w*pool\w* ?[12] ?d",
        r"[12] ?d [a-z]+ ?pool\w*",
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
            "3d",
            "avgpool3d",
            "pool3d",
            "forward",
            "maximum",
        }
    ),
)
