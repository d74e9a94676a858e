"""Triplet margin loss (KernelBench level 1, problem 99)."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Shape, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Triplet margin loss."""

    def __init__(self, margin: float = 1.0):
        super().__init__()
        self.loss_fn = nn.TripletMarginLoss(margin=margin)

    def forward(
        self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor
    ) -> torch.Tensor:
        return self.loss_fn(anchor, positive, negative)
'''


def case(role: Role, shape: Shape, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of anchors, positives and negatives."""
    one = tensor(shape, values)
    return workload(role, one, one, one, label=label, init=(1.0,))


WORKLOADS = (
    case("nominal", (16, 4096)),
    case("nominal", (130, 255)),
    case("stress", (16, 1024), UNIFORM, "uniform"),
    case("stress", (16, 1024), HEAVY, "heavy tails"),
    case("stress", (64, 64), ("normal", 0.0, 0.1), "close"),
    case("general", (1, 1)),
    case("general", (1, 31)),
    case("general", (3, 33)),
    case("general", (5, 1000)),
    case("general", (7, 1023)),
    case("full", (32768, 8192), UNIFORM),
)

ENTRY = Entry(
    task=builtin(
        "triplet-loss",
        "Triplet margin loss",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "triplet"},
        reduction_length="d0*d1",
        prompt="Return the mean triplet margin loss (p 2).",
    ),
    problems=(99,),
    words=(r"triplet( margin)?( loss)?",),
    formulas=(r"nn\.TripletMarginLoss\(", r"F\.triplet_margin_loss\("),
    against=(r"hinge",),
    vocabulary=frozenset(
        {"triplet", "margin", "loss", "mean", "reduce", "sum", "distance", "relu"}
    ),
)
