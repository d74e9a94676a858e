"""Constructors that raise: a module that nobody imported, a parameter that is not kept."""

from __future__ import annotations

import pytest
import torch

from grader.records import Context, Evidence
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

CODE = """
from __future__ import annotations
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, n, bias=False):
        super().__init__()
        self.bias = bias
        self.weight = torch.nn.Parameter(torch.ones(n))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(n))
            torch.nn.init.zeros_(self.bias)
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        return x * self.weight
"""


def made(code: str) -> torch.nn.Module:
    names: dict[str, object] = {}
    exec(code, names)
    model = names["ModelNew"](4)  # type: ignore[operator]
    assert isinstance(model, torch.nn.Module)
    return model


def test_a_module_that_nobody_imported_is_imported() -> None:
    bound = "torch.nn.init.uniform_(self.weight, -1 / math.sqrt(n), F.relu(torch.ones(1)).item())"
    code = CODE.replace("        self.bias = bias\n", "").replace(
        "if bias:", bound + "\n        if bias:"
    )
    (finding,) = detected_with_fixes("EXT003", parse(code), Context())
    (change,) = finding.fixes
    assert change.label == "import math, F"
    assert made(apply(code, change.edits)).bias is None


def test_a_parameter_that_forward_reads_from_self_is_kept() -> None:
    code = CODE.replace("        self.bias = bias\n", "").replace(
        "* self.weight", "* self.weight * self.n"
    )
    with pytest.raises(AttributeError) as raised:
        made(code)(torch.ones(4))
    seen = Evidence(kind="python", code="raised", text=f"AttributeError: {raised.value}")
    (finding,) = detected_with_fixes("EXT003", parse(code), Context(evidence=(seen,)))
    assert made(apply(code, finding.fixes[0].edits))(torch.ones(4)).tolist() == [4.0] * 4
