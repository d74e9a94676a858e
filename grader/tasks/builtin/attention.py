"""Scaled dot product attention (KernelBench level 1, problem 97)."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Shape, Values, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Scaled dot product attention."""

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(Q, K, V)
'''


def case(role: Role, shape: Shape, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of queries, keys and values of one shape."""
    one = tensor(shape, values)
    return workload(role, one, one, one, label=label)


WORKLOADS = (
    case("nominal", (2, 2, 32, 128)),
    case("nominal", (1, 3, 64, 64)),
    case("stress", (1, 2, 32, 64), UNIFORM, "uniform"),
    case("stress", (1, 2, 32, 64), ("normal", 0.0, 3.0), "wide"),
    case("stress", (1, 2, 32, 64), HEAVY, "heavy tails"),
    case("general", (1, 1, 1, 1)),
    case("general", (1, 1, 31, 33)),
    case("general", (2, 3, 33, 100)),
    case("full", (32, 32, 512, 1024), UNIFORM),
)

ENTRY = Entry(
    task=builtin(
        "attention",
        "Scaled dot product attention",
        REFERENCE,
        workloads=WORKLOADS,
        family="attention",
        parameters={},
        reduction_length="d2*d3",
        prompt="Apply scaled dot product attention without a mask.",
    ),
    problems=(97,),
    words=(r"scaled dot product attention", r"sdpa", r"flash ?attention", r"attention"),
    formulas=(r"scaled_dot_product_attention\(",),
    against=(r"causal", r"multi ?head", r"layer", r"transformer", r"mask\w*"),
    vocabulary=frozenset(
        {
            "attention",
            "scaled",
            "dot",
            "product",
            "sdpa",
            "flash",
            "softmax",
            "forward",
            "fused",
            "qk",
            "qkv",
            "matmul",
        }
    ),
)
