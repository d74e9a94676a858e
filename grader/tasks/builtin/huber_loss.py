"""Huber (smooth L1) loss (KernelBench level 1, problem 96)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Huber (smooth L1) loss."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(predictions, targets)
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
        "huber-loss",
        "Huber (smooth L1) loss",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "huber"},
        reduction_length="d0*d1",
        prompt="Return the smooth L1 loss (beta 1, mean) of two matrices.",
    ),
    problems=(96,),
    words=(r"huber( loss)?", r"smooth ?l1( loss)?"),
    formulas=(
        r"F\.smooth_l1_loss\(",
        r"functional\.smooth_l1_loss\(",
        r"F\.huber_loss\(",
        r"nn\.SmoothL1Loss\(",
    ),
    against=(r"mse",),
    vocabulary=frozenset({"huber", "loss", "smooth", "l1", "mean", "reduce", "sum"}),
)
