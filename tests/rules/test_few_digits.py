"""Results that are right to half precision only: what narrows the values is named."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence
from grader.source import parse
from tests.rules.reviews import review_text

ANSWER = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
__global__ void twice(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * {value};
}}
torch::Tensor run(torch::Tensor x) {{
    {before}
    auto y = torch::empty_like(x);
    twice<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}}
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=["run"])

class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run({given})
'''


def _said(code: str, *codes: str) -> list[tuple[str, str, str]]:
    evidence = tuple(
        Evidence(kind="mismatch", code=name, text="few digits", workload=str(number))
        for number, name in enumerate(codes)
    )
    found = review_text(parse(code), Context(evidence=evidence), select=("NUM001",))
    lines = code.splitlines()
    return [(lines[f.place.line - 1].strip(), f.message, f.severity) for f in found if f.place]


def _answer(value: str = "x[i]", before: str = "", given: str = "x") -> str:
    return ANSWER.format(value=value, before=before, given=given)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (_answer(value="__half2float(__float2half(x[i]))"), "if (i < n) y[i] ="),
        (_answer(before="x = x.to(torch::kBFloat16).to(torch::kFloat);"), "x = x.to("),
        (_answer(given="x.half().float()"), "return ext.run(x.half()"),
    ],
)
def test_what_narrows_is_named(code: str, line: str) -> None:
    ((at, message, severity),) = _said(code, "half-precision", "half-precision")
    assert at.startswith(line)
    assert "fewer digits" in message
    assert severity == "error"


@pytest.mark.parametrize(
    "code",
    [
        _answer(),
        _answer(before="TORCH_CHECK(x.scalar_type() != torch::kHalf);"),
        _answer(before="int n = 1;  // no __float2half here"),
    ],
)
def test_what_only_speaks_of_a_type_is_not(code: str) -> None:
    assert "fewer digits" not in str(_said(code, "half-precision"))


def test_nor_is_anything_where_other_results_are_wrong_in_other_ways() -> None:
    code = _answer(given="x.half().float()")
    assert "fewer digits" not in str(_said(code, "half-precision", "values"))


def test_a_sum_in_half_precision_is_the_error_where_results_are_that_far_off() -> None:
    summed = "__half s = 0; for (int k = 0; k < n; ++k) s = __hfma(x[k], x[k], s);"
    code = ANSWER.replace("if (i < n)", f"{summed}\n    if (i < n)").replace("{value}", "x[i]")
    off = Evidence(kind="mismatch", code="half-precision", text="errors up to 0.01", workload="64")
    for evidence, severity in (((), "warning"), ((off,), "error")):
        found = review_text(parse(code), Context(evidence=evidence), select=("NUM007",))
        assert [one.severity for one in found] == [severity]
