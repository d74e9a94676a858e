"""Hinge loss (KernelBench level 1, problem 100)."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NORMAL, UNIFORM, Shape, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Hinge loss."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.clamp(1 - predictions * targets, min=0))
'''

SIGNS: Values = ("signed_uniform", 1.0, 1.0)
"""-1 or 1."""


def case(role: Role, shape: Shape, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload whose targets are broadcast along the last dim, as in KernelBench."""
    return workload(role, tensor(shape, values), tensor(shape[-1:], SIGNS), label=label)


WORKLOADS = (
    case("nominal", (256, 256)),
    case("nominal", (301, 301)),
    case("stress", (128, 128), UNIFORM, "uniform"),
    case("stress", (128, 128), HEAVY, "heavy tails"),
    case("stress", (128, 128), ("normal", 0.0, 5.0), "wide"),
    case("stress", (128, 128), LARGE, "large"),
    case("general", (1, 1)),
    case("general", (31, 31)),
    case("general", (33, 33)),
    case("general", (100, 100)),
    workload("general", tensor((1000, 1)), tensor((1000, 1), SIGNS)),
    workload("general", tensor((128, 33)), tensor((128, 33), SIGNS)),
    case("full", (32768, 32768), UNIFORM),
)

ENTRY = Entry(
    task=builtin(
        "hinge-loss",
        "Hinge loss",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "hinge"},
        reduction_length="d0*d1",
        prompt="Return the mean hinge loss of predictions and targets of -1 or 1.",
    ),
    problems=(100,),
    words=(r"hinge( loss)?",),
    formulas=(r"torch\.mean\(torch\.clamp\(1-predictions\*targets,min=0\)\)",),
    against=(r"triplet", r"margin"),
    vocabulary=frozenset({"hinge", "loss", "mean", "clamp", "reduce", "sum"}),
)
