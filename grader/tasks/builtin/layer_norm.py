"""Layer norm over the last dims (KernelBench level 1, problem 40)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, TINY, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Layer norm over the last three dims."""

    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ln(x)
'''

SHAPE = [64, 32, 32]

WORKLOADS = (
    workload("nominal", tensor((3, *SHAPE)), init=(SHAPE,)),
    *(
        workload("stress", tensor((2, *SHAPE), values), label=label, init=(SHAPE,))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    workload("general", tensor((1, *SHAPE)), init=(SHAPE,)),
    workload("general", tensor((2, *SHAPE), ("normal", 100.0, 1.0)), label="offset", init=(SHAPE,)),
    workload("general", tensor((2, *SHAPE), TINY), label="tiny", init=(SHAPE,)),
    workload("general", tensor((2, *SHAPE)), init=(SHAPE,), weights="drawn"),
    workload("general", tensor((5, 3, 31, 11)), init=([3, 31, 11],), weights="drawn"),
    workload("full", tensor((16, 64, 256, 256), UNIFORM), init=([64, 256, 256],)),
)

ENTRY = Entry(
    task=builtin(
        "layer-norm",
        "Layer norm over the last dims",
        REFERENCE,
        workloads=WORKLOADS,
        family="layer-norm",
        parameters={"eps": 1e-5},
        reduction_length="d1*d2*d3",
        prompt="Apply layer norm with weights over the last three dims of a 4-D tensor.",
    ),
    problems=(40,),
    words=(r"layer ?norm\w*", r"layer normali[sz]\w+"),
    formulas=(r"nn\.LayerNorm\(", r"F\.layer_norm\("),
    against=(r"rms ?norm\w*", r"group ?norm\w*"),
    vocabulary=frozenset(
        {"layer", "norm", "layernorm", "ln", "mean", "var", "reduce", "forward", "welford"}
    ),
)
