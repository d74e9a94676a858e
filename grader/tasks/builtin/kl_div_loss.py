"""Kullback-Leibler divergence (KernelBench level 1, problem 98)."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Shape, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Kullback-Leibler divergence."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.kl_div(torch.log(predictions), targets, reduction="batchmean")
'''


def case(role: Role, shape: Shape, values: Values = UNIFORM, label: str = "") -> Workload:
    """Return a workload of two tables whose rows are distributions."""
    rows = tensor(shape, values, structure="simplex")
    return workload(role, rows, rows, label=label)


WORKLOADS = (
    case("nominal", (16, 4096)),
    case("nominal", (130, 511)),
    case("stress", (16, 1024), NORMAL, "normal"),
    case("stress", (16, 1024), HEAVY, "heavy tails"),
    case("stress", (16, 1024), ("spike", 0.0, 1.0), "spike"),
    case("general", (1, 2)),
    case("general", (1, 31)),
    case("general", (33, 33)),
    case("general", (5, 1000)),
    case("general", (7, 1023)),
    case("full", (16384, 16384)),
)

ENTRY = Entry(
    task=builtin(
        "kl-div-loss",
        "Kullback-Leibler divergence",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "kl-div"},
        reduction_length="d0*d1",
        prompt="Return the batch mean of the Kullback-Leibler divergence of rows of probabilities.",
    ),
    problems=(98,),
    words=(r"kl ?div\w*( loss)?", r"kullback leibler\w*"),
    formulas=(r"F\.kl_div\(", r"functional\.kl_div\(", r"nn\.KLDivLoss\("),
    against=(r"cross ?entropy",),
    vocabulary=frozenset(
        {"kl", "div", "divergence", "kldiv", "loss", "log", "mean", "reduce", "sum", "batchmean"}
    ),
)
