"""Group norm (KernelBench level 1, problem 35)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, TINY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Group norm."""

    def __init__(self, num_features: int, num_groups: int):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups=num_groups, num_channels=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gn(x)
'''

WORKLOADS = (
    workload("nominal", tensor((2, 64, 32, 32)), init=(64, 8)),
    *(
        workload("stress", tensor((2, 64, 16, 16), values), label=label, init=(64, 8))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=(64, 8))
        for shape in ((1, 64, 1, 1), (3, 64, 7, 11), (2, 64, 5, 33))
    ),
    workload(
        "general", tensor((2, 64, 16, 16), ("normal", 100.0, 1.0)), label="offset", init=(64, 8)
    ),
    workload("general", tensor((2, 64, 16, 16), TINY), label="tiny", init=(64, 8)),
    workload("general", tensor((2, 64, 16, 16)), init=(64, 8), weights="drawn"),
    workload("full", tensor((112, 64, 512, 512), UNIFORM), init=(64, 8)),
)

ENTRY = Entry(
    task=builtin(
        "group-norm",
        "Group norm",
        REFERENCE,
        workloads=WORKLOADS,
        family="group-norm",
        parameters={"eps": 1e-5},
        reduction_length="d2*d3*8",
        prompt="Apply group norm with weights to a 4-D tensor.",
    ),
    problems=(35,),
    words=(r"group ?norm\w*", r"group normali[sz]\w+"),
    formulas=(r"nn\.GroupNorm\(", r"F\.group_norm\("),
    against=(r"batch ?norm\w*", r"instance ?norm\w*", r"layer ?norm\w*"),
    vocabulary=frozenset(
        {
            "group",
            "norm",
            "groupnorm",
            "gn",
            "mean",
            "var",
            "reduce",
            "forward",
            "stats",
            "normalize",
        }
    ),
)
