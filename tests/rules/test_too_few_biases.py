"""Layers of the reference whose bias an answer forgot are named beside its weights."""

from __future__ import annotations

import pytest

from grader.records import Context, Task
from grader.source import parse
from tests.rules.reviews import review_text

REFERENCE = """
class Model(nn.Module):
    def __init__(self, i, o, shape):
        super().__init__()
        self.matmul = nn.Linear(i, o)
        self.bias = nn.Parameter(torch.randn(shape))
    def forward(self, x):
        return torch.sigmoid(self.matmul(x)) + self.bias
"""
CODE = """
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self, i, o, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))
        self.bias = nn.Parameter(torch.randn(shape))
    def forward(self, x):
        return ext.run(x, self.weight, self.bias)
"""
FORGOTTEN = "the reference adds matmul.bias, bias, ModelNew has 1 of them"


@pytest.mark.parametrize(
    ("reference", "code", "told"),
    [
        (REFERENCE, CODE, True),
        (REFERENCE.replace("nn.Linear(i, o)", "nn.Linear(i, o, bias=False)"), CODE, False),
        (
            REFERENCE,
            CODE.replace("        self.bias", "        self.b1 = nn.Parameter(torch.zeros(o))\n        self.bias", 1),
            False,
        ),
    ],
)  # fmt: skip
def test_a_bias_too_few_is_told(reference: str, code: str, told: bool) -> None:
    task = Task(name="t", title="t", source="file", reference=reference, workloads=())
    (found,) = review_text(parse(code), Context(task=task), select=("NUM006",))
    assert (FORGOTTEN in found.message) == told
