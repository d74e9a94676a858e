"""Max pooling 1d (KernelBench level 1, problem 41)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Max pooling 1d."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
    ):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size, stride, padding, dilation, return_indices)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''

INIT = (8, 1, 4, 3, False)

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
    workload("general", tensor((2, 8, 1000)), init=(3, 2, 1, 1, False)),
    workload("full", tensor((64, 192, 65536), UNIFORM), init=INIT),
)

ENTRY = Entry(
    task=builtin(
        "max-pool-1d",
        "Max pooling 1d",
        REFERENCE,
        workloads=WORKLOADS,
        family="pool",
        parameters={"op": "max", "dims": 1},
        reduction_length="1",
        prompt="Apply max pooling 1d.",
    ),
    problems=(41,),
    words=(r"max\w* ?pool\w* ?1 ?d", r"1 ?d max\w* ?pool\w*", r"max\w* ?pool\w*"),
    formulas=(r"nn\.MaxPool1d\(", r"F\.max_pool1d\("),
    against=(
        r"\w*pool\w* ?[23] ?d",
        r"[23] ?d [a-z]+ ?pool\w*",
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
            "1d",
            "maxpool1d",
            "pool1d",
            "forward",
            "maximum",
        }
    ),
)
