"""Cross-entropy loss (KernelBench level 1, problem 95)."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Cross-entropy loss."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(predictions, targets)
'''


def case(role: Role, rows: int, classes: int, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of logits with labels below their number of classes."""
    labels = tensor((rows,), ("randint", 0.0, float(classes)), "int64")
    return workload(role, tensor((rows, classes), values), labels, label=label)


WORKLOADS = (
    case("nominal", 48, 4096),
    case("nominal", 1024, 10),
    case("stress", 40, 512, UNIFORM, "uniform"),
    case("stress", 40, 512, HEAVY, "heavy tails"),
    case("stress", 40, 512, ("normal", 0.0, 8.0), "wide"),
    case("general", 1, 2),
    case("general", 31, 33),
    case("general", 33, 1000),
    case("general", 5, 1023),
    case("general", 40, 512, ("large", 0.0, 100.0), "large"),
    case("full", 32768, 4096, UNIFORM),
)

ENTRY = Entry(
    task=builtin(
        "cross-entropy-loss",
        "Cross-entropy loss",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "cross-entropy"},
        reduction_length="d0*d1",
        prompt="Return the mean cross-entropy of logits and labels.",
    ),
    problems=(95,),
    words=(r"cross ?entropy( loss)?",),
    formulas=(r"F\.cross_entropy\(", r"functional\.cross_entropy\(", r"nn\.CrossEntropyLoss\("),
    against=(r"binary", r"kl ?div\w*", r"bce"),
    vocabulary=frozenset(
        {
            "cross",
            "entropy",
            "loss",
            "crossentropy",
            "softmax",
            "log",
            "mean",
            "reduce",
            "sum",
            "nll",
            "ce",
        }
    ),
)
