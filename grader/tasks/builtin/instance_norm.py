"""Instance norm (KernelBench level 1, problem 34)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, TINY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Instance norm."""

    def __init__(self, num_features: int):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inorm(x)
'''

WORKLOADS = (
    workload("nominal", tensor((4, 16, 48, 48)), init=(16,)),
    *(
        workload("stress", tensor((2, 16, 32, 32), values), label=label, init=(16,))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=(16,))
        for shape in ((1, 16, 1, 31), (3, 16, 7, 33), (2, 16, 5, 200), (1, 16, 2, 1))
    ),
    workload(
        "general", tensor((2, 16, 32, 32), ("normal", 100.0, 1.0)), label="offset", init=(16,)
    ),
    workload("general", tensor((2, 16, 32, 32), TINY), label="tiny", init=(16,)),
    workload("full", tensor((112, 64, 512, 512), UNIFORM), init=(64,)),
)

ENTRY = Entry(
    task=builtin(
        "instance-norm",
        "Instance norm",
        REFERENCE,
        workloads=WORKLOADS,
        family="instance-norm",
        parameters={"eps": 1e-5},
        reduction_length="d2*d3",
        prompt="Apply instance norm to a 4-D tensor.",
    ),
    problems=(34,),
    words=(r"instance ?norm\w*( 2 ?d)?", r"instance normali[sz]\w+"),
    formulas=(r"nn\.InstanceNorm2d\(", r"F\.instance_norm\("),
    against=(r"batch ?norm\w*", r"group ?norm\w*", r"layer ?norm\w*"),
    vocabulary=frozenset(
        {
            "instance",
            "norm",
            "instancenorm",
            "inorm",
            "mean",
            "var",
            "reduce",
            "forward",
            "stats",
            "normalize",
            "2d",
        }
    ),
)
