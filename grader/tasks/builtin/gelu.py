"""GELU (exact, by erf) (KernelBench level 1, problem 26)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """GELU (exact, by erf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x)
'''

ENTRY = Entry(
    task=builtin(
        "gelu",
        "GELU (exact, by erf)",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "gelu"},
        prompt="Apply GELU (exact, by erf) to a tensor.",
    ),
    inside=(r"erff?\(", r"normcdff?\("),
    outside=(r"0?\.0447",),
    problems=(26,),
    words=(r"gelu", r"gaussian error linear"),
    formulas=(r"(torch\.nn\.functional|F)\.gelu\(x\)", r"nn\.GELU\(\)"),
    against=(r"new ?gelu", r"min ?gpt", r"gelu tanh", r"geglu"),
    vocabulary=frozenset({"gelu", "erf", "tanh"}),
)
