"""Mean squared error (KernelBench level 1, problem 94)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean squared error."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean((predictions - targets) ** 2)
'''

WORKLOADS = (
    *(workload("nominal", tensor(shape), tensor(shape)) for shape in ((4, 16384), (130, 511))),
    *(
        workload("stress", tensor((4, 4096), values), tensor((4, 4096), values), label=label)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("close", ("normal", 0.0, 0.1)),
            ("spike", ("spike", 0.0, 1.0)),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), tensor(shape))
        for shape in ((1, 1), (1, 31), (3, 33), (5, 1000), (7, 1023))
    ),
    workload("full", tensor((32768, 32768), UNIFORM), tensor((32768, 32768), UNIFORM)),
)

ENTRY = Entry(
    task=builtin(
        "mse-loss",
        "Mean squared error",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "mse"},
        reduction_length="d0*d1",
        prompt="Return the mean squared difference of two matrices.",
    ),
    problems=(94,),
    words=(r"mse( loss)?", r"mean squared? error"),
    formulas=(r"torch\.mean\(\(predictions-targets\)\*\*2\)", r"F\.mse_loss\(", r"nn\.MSELoss\("),
    against=(r"huber", r"smooth l1"),
    vocabulary=frozenset({"mse", "loss", "squared", "mean", "error", "reduce", "sum", "square"}),
)
