"""Batch norm (inference: running statistics)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Batch norm over the channels."""

    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features=num_features)
        self.bn.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(x)
'''

WORKLOADS = (
    workload("nominal", tensor((8, 16, 32, 32)), init=(16,), weights="drawn"),
    *(
        workload(
            "stress", tensor((4, 16, 16, 16), values), label=label, init=(16,), weights="drawn"
        )
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=(16,), weights="drawn")
        for shape in ((4, 16, 7, 31), (1, 16, 1, 1), (3, 16, 33, 1))
    ),
    workload("full", tensor((64, 64, 512, 512), UNIFORM), init=(64,), weights="drawn"),
)

ENTRY = Entry(
    task=builtin(
        "batch-norm-inference",
        "Batch norm (inference: running statistics)",
        REFERENCE,
        workloads=WORKLOADS,
        family="batch-norm",
        parameters={"eps": 1e-5, "training": False},
        reduction_length="1",
        prompt="Apply batch norm in inference mode (running statistics) to a 4-D tensor.",
    ),
    prior=-1.5,
    problems=(),
    words=(
        r"batch ?norm\w*( 2 ?d)?( in| for)? (inference|eval\w*)",
        r"(inference|eval\w*)( mode)?( for| of)? batch ?norm\w*",
        r"batch ?norm\w*( 2 ?d)?",
    ),
    formulas=(r"\.eval\(\)", r"training=False"),
    against=(r"layer ?norm\w*", r"group ?norm\w*", r"instance ?norm\w*", r"train\w+"),
    vocabulary=frozenset(
        {"batch", "norm", "batchnorm", "bn", "inference", "eval", "forward", "normalize", "2d"}
    ),
)
