"""Division by the root mean square over dim 1 of a 4-D tensor (KernelBench level 1, problem 36)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import (
    CONSTANT,
    HEAVY,
    LARGE,
    NEGATIVE,
    TINY,
    UNIFORM,
    ZEROS,
    tensor,
    workload,
)

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides by the root mean square over the features (dim 1)."""

    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rms = torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)
        return x / rms
'''

WORKLOADS = (
    workload("nominal", tensor((2, 64, 32, 32)), init=(64,)),
    workload("nominal", tensor((3, 64, 16, 48)), init=(64,)),
    *(
        workload("stress", tensor((2, 64, 16, 16), values), label=label, init=(64,))
        for label, values in (
            ("uniform", UNIFORM),
            ("negative", NEGATIVE),
            ("heavy tails", HEAVY),
            ("large", LARGE),
            ("constant", CONSTANT),
            ("zeros", ZEROS),
            ("tiny", TINY),
        )
    ),
    *(
        workload("general", tensor(shape), init=(64,))
        for shape in ((1, 64, 1, 1), (1, 64, 7, 31), (3, 64, 1, 33), (2, 64, 5, 200))
    ),
    workload("general", tensor((2, 100, 9, 11)), init=(100,)),
    workload("full", tensor((112, 64, 512, 512), UNIFORM), init=(64,)),
)

ENTRY = Entry(
    task=builtin(
        "rms-norm",
        "RMS norm over dim 1 of a 4-D tensor",
        REFERENCE,
        workloads=WORKLOADS,
        family="channel-norm",
        parameters={"eps": 1e-5},
        reduction_length="d1",
        prompt="Divide a 4-D tensor by its root mean square over dim 1, with an epsilon of 1e-5.",
    ),
    problems=(36,),
    words=(r"rms ?norm\w*", r"root mean square"),
    formulas=(r"torch\.mean\(x\*\*2,dim=1,keepdim=True\)\+self\.eps", r"nn\.RMSNorm\("),
    against=(r"layer ?norm\w*", r"l2 norm\w*"),
    vocabulary=frozenset({"rms", "norm", "mean", "square", "sqrt", "reduce", "sum", "forward"}),
)
