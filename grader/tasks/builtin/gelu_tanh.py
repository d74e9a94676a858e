"""GELU by the tanh approximation (KernelBench level 1, problem 88)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import elementwise

REFERENCE = '''\
import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """GELU by the tanh approximation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cubic = x + 0.044715 * torch.pow(x, 3.0)
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * cubic))
'''

ENTRY = Entry(
    task=builtin(
        "gelu-tanh",
        "GELU by the tanh approximation",
        REFERENCE,
        workloads=elementwise(),
        family="elementwise",
        parameters={"op": "gelu-tanh"},
        prompt="Apply GELU by the tanh approximation to a tensor.",
    ),
    inside=(r"0?\.0447",),
    outside=(r"erff?\(",),
    prior=-0.5,
    problems=(88,),
    words=(
        r"new ?gelu",
        r"min ?gpt new ?gelu",
        r"gelu tanh",
        r"tanh gelu",
        r"gelu approx\w*",
    ),
    usual=(r"gelu",),
    formulas=(
        r"0\.5\*x\*\(1\.0\+torch\.tanh\(math\.sqrt\(2\.0/math\.pi\)\*\(x\+0\.044715",
        r"approximate=.tanh",
        r"0\.044715",
    ),
    against=(r"erff?",),
    vocabulary=frozenset({"new", "gelu", "tanh", "gpt", "min"}),
)
