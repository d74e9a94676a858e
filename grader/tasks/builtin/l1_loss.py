"""Mean absolute error."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean absolute error."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.abs(predictions - targets))
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
        "l1-loss",
        "Mean absolute error",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "l1"},
        reduction_length="d0*d1",
        prompt="Return the mean absolute difference of two matrices.",
    ),
    problems=(),
    words=(r"l1 loss", r"mean absolute error", r"mae( loss)?"),
    formulas=(
        r"F\.l1_loss\(",
        r"torch\.mean\(torch\.abs\(predictions-targets\)\)",
        r"nn\.L1Loss\(",
    ),
    against=(r"smooth", r"huber", r"norm\w*"),
    vocabulary=frozenset(
        {"l1", "loss", "mae", "mean", "absolute", "error", "reduce", "sum", "abs"}
    ),
)
