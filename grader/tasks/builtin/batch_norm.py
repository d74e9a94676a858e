"""Batch norm (statistics of the batch) (KernelBench level 1, problem 33)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, TINY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Batch norm over the channels."""

    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(x)
'''

WORKLOADS = (
    workload("nominal", tensor((8, 16, 32, 32)), init=(16,)),
    *(
        workload("stress", tensor((4, 16, 16, 16), values), label=label, init=(16,))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    workload("general", tensor((4, 16, 7, 31)), init=(16,)),
    workload("general", tensor((1, 16, 33, 1)), init=(16,)),
    workload(
        "general", tensor((8, 16, 16, 16), ("normal", 100.0, 1.0)), label="offset", init=(16,)
    ),
    workload("general", tensor((8, 16, 16, 16), TINY), label="tiny", init=(16,)),
    workload("general", tensor((5, 16, 16, 16)), init=(16,), weights="drawn"),
    workload("full", tensor((64, 64, 512, 512), UNIFORM), init=(64,)),
)

ENTRY = Entry(
    task=builtin(
        "batch-norm",
        "Batch norm (statistics of the batch)",
        REFERENCE,
        workloads=WORKLOADS,
        family="batch-norm",
        parameters={"eps": 1e-5, "training": True},
        reduction_length="d0*d2*d3",
        prompt="Apply batch norm in training mode (statistics of the batch) to a 4-D tensor.",
        notes=("KernelBench leaves the module in training mode.",),
    ),
    problems=(33,),
    words=(r"batch ?norm\w*( 2 ?d)?", r"batch normali[sz]\w+", r"bn"),
    formulas=(r"nn\.BatchNorm2d\(", r"F\.batch_norm\("),
    against=(
        r"layer ?norm\w*",
        r"group ?norm\w*",
        r"instance ?norm\w*",
        r"inference( mode)?",
        r"eval(uation)?( mode)?",
    ),
    vocabulary=frozenset(
        {
            "batch",
            "norm",
            "batchnorm",
            "bn",
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
