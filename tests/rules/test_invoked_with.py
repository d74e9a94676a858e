"""Calls that pybind refused, after the fix: by what it says they were invoked with."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

CODE = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="e", functions=["run"], cuda_sources="torch::Tensor run(torch::Tensor x, OTHER) { return x; }",
                  cpp_sources="torch::Tensor run(torch::Tensor x, OTHER);")
class ModelNew(nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.size = size
        self.scale = scale
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        return ext.run(ARGS)
"""


@pytest.mark.parametrize(
    ("other", "passed", "invoked", "wanted"),
    [
        ("int k", "x, self.size", "tensor, (3, 3)", "ext.run(x, self.size[0])"),
        ("float k", "x, self.scale", "tensor, tensor([2.])", "ext.run(x, self.scale.item())"),
        ("int k", "x, self.scale", "tensor, 0.5", "torch::Tensor run(torch::Tensor x, double k)"),
        ("torch::Tensor w", "x, self.layer", "tensor, Linear(in_features=4, out_features=4, bias=True)",
         "ext.run(x, self.layer.weight)"),
        ("torch::Tensor bias", "x, self.layer", "tensor, Linear(in_features=4, out_features=4, bias=True)",
         "ext.run(x, self.layer.bias)"),
        ("torch::Tensor k", "x, self.scale", "tensor, 2.5",
         "ext.run(x, torch.tensor(self.scale, device=x.device, dtype=x.dtype))"),
        ("int k", "x, 3, self.size", "tensor, 3, 4", "ext.run(x, 3)"),
    ],
)  # fmt: skip
def test_the_call_fits_the_function_after_the_fix(
    other: str, passed: str, invoked: str, wanted: str
) -> None:
    code = CODE.replace("OTHER", other).replace("ARGS", passed)
    said = f"TypeError: run(): incompatible function arguments. The following argument types are supported: 1. (...) Invoked with: {invoked}"
    raised = Evidence(kind="python", code="raised", text=said)
    found = review_with_fixes(parse(code), Context(evidence=(raised,)), select=("API004",))
    fixed = [apply(code, one.edits) for finding in found for one in finding.fixes]
    assert any(wanted in text for text in fixed), fixed


@pytest.mark.parametrize(("name", "channels"), [("run", 0), ("run_transposed", 1)])
def test_what_was_none_is_told_by_its_place(name: str, channels: int) -> None:
    code = CODE.replace("run", name).replace("OTHER", "torch::Tensor w, torch::Tensor b")
    code = code.replace("ARGS", "x, self.kept.weight, self.kept.bias")
    said = f"TypeError: {name}(): incompatible function arguments. The following (...) Invoked with: tensor, tensor, None"
    raised = Evidence(kind="python", code="raised", text=said)
    (finding,) = review_with_fixes(parse(code), Context(evidence=(raised,)), select=("API004",))
    assert "passes self.kept.bias, which is None" in finding.message
    assert f".new_zeros(self.kept.weight.shape[{channels}])" in apply(code, finding.fixes[0].edits)
    assert review_with_fixes(parse(code), Context(), select=("API004",)) == ()


def test_another_function_s_refusal_changes_nothing() -> None:
    code = CODE.replace("OTHER", "int k").replace("ARGS", "x, self.size")
    raised = Evidence(
        kind="python", code="raised", text="TypeError: incompatible function arguments"
    )
    assert review_with_fixes(parse(code), Context(evidence=(raised,)), select=("API004",)) == ()


def test_an_attribute_whose_name_holds_the_parameters_is_passed() -> None:
    code = (
        CODE.replace("OTHER", "float slope").replace("ARGS", "x").replace("scale", "negative_slope")
    )
    found = review_with_fixes(parse(code), Context(), select=("API004",))
    fixed = [apply(code, one.edits) for finding in found for one in finding.fixes]
    assert any("ext.run(x, self.negative_slope)" in text for text in fixed)
