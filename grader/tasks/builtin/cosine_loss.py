"""Cosine similarity loss (KernelBench level 1, problem 97 as of 2024)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Cosine similarity loss."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        similarity = F.cosine_similarity(predictions, targets, dim=1)
        return torch.mean(1 - similarity)
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
        "cosine-loss",
        "Cosine similarity loss",
        REFERENCE,
        workloads=WORKLOADS,
        family="loss",
        parameters={"op": "cosine"},
        reduction_length="d0*d1",
        prompt="Return the mean of one minus the cosine similarity of rows.",
    ),
    problems=(),
    words=(r"cosine( similarity)?( loss)?",),
    formulas=(
        r"F\.cosine_similarity\(",
        r"functional\.cosine_similarity\(",
        r"nn\.CosineSimilarity\(",
    ),
    against=(r"attention",),
    vocabulary=frozenset({"cosine", "similarity", "loss", "mean", "reduce", "sum", "dot", "norm"}),
)
