"""Max pooling 3d (KernelBench level 1, problem 43)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Max pooling 3d."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.pool = nn.MaxPool3d(
            kernel_size, stride, padding, dilation, return_indices, ceil_mode
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (3, 2, 1, 3, False, False)

WORKLOADS = (
    *(
        workload("nominal", tensor(shape), init=INIT)
        for shape in ((2, 4, 24, 24, 24), (1, 3, 17, 20, 31))
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
        for shape in ((1, 1, 7, 9, 11), (2, 3, 8, 33, 7))
    ),
    workload("general", tensor((2, 3, 12, 10, 9)), init=(2, 2, 0, 1, False, False)),
    workload("full", tensor((16, 32, 128, 128, 128), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "max-pool-3d",
        "Max pooling 3d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "max", "dims": 3},
        reduction_length="1",
        prompt="Apply max pooling 3d.",
    ),
    problems=(43,),
    words=(r"max\w* ?pool\w* ?3 ?d", r"3 ?d max\w* ?pool\w*", r"max\w* ?pool\w*"),
    formulas=(r"nn\.MaxPool3d\(", r"F\.max_pool3d\("),
    against=(
        r"\w*pool\w* ?[12] ?d",
        r"[12] ?d [a-z]+ ?pool\w*",
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
            "3d",
            "maxpool3d",
            "pool3d",
            "forward",
            "maximum",
        }
    ),
)
