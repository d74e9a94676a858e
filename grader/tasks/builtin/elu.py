"""ELU (KernelBench level 1, problem 31)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """ELU."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.elu(x, alpha=self.alpha)
'''

ENTRY = Entry(
    task=builtin(
        "elu",
        "ELU",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "elu", "init": {"alpha": [1.0, "alpha"]}},
        prompt="Apply ELU to a tensor.",
    ),
    problems=(31,),
    words=(r"elu",),
    formulas=(r"F\.elu\(x", r"nn\.ELU\("),
    against=(r"relu", r"gelu", r"selu", r"celu"),
    vocabulary=frozenset({"elu", "exp"}),
)
