"""Where only weights that come after the constructor go wrong, what keeps a copy of them is named."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Task, Workload
from grader.source import parse
from tests.rules.reviews import review_text

ANSWER = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
__global__ void scale(const float* x, const float* w, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * w[i];
}}
torch::Tensor scale_rows(torch::Tensor x, torch::Tensor w) {{
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}}
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=["scale_rows"])

class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        {kept}

    def forward(self, x):
        return ext.scale_rows(x, self.{used})
'''
TASK = Task(
    name="t",
    title="t",
    source="file",
    reference="",
    workloads=(
        Workload(name="8", role="nominal", inputs=()),
        Workload(name="9", role="general", inputs=()),
        Workload(name="8 drawn weights", role="general", inputs=(), weights="drawn"),
    ),
)


def _said(kept: str, used: str, *workloads: str) -> list[str]:
    evidence = tuple(
        Evidence(kind="mismatch", code="values", text="all wrong", workload=name)
        for name in workloads
    )
    code = ANSWER.format(kept=kept, used=used)
    found = review_text(parse(code), Context(evidence=evidence, task=TASK), select=("NUM",))
    lines = code.splitlines()
    return [
        f"{lines[f.place.line - 1].strip()}: {f.message}"
        for f in found
        if f.place and "once, in `__init__`" in f.message
    ]


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("self.total = self.fc.weight.sum(dim=0)", "total"),
        ("self.register_buffer('total', self.fc.weight.sum(0))", "total"),
        ("w = self.fc.weight.t().contiguous(); self.register_buffer('wt', w)", "wt"),
        ("half = 0.5 * self.fc.bias; self.half = half", "half"),
    ],
)
def test_a_copy_made_in_the_constructor_is_named(kept: str, used: str) -> None:
    (said,) = _said(kept, used, "8 drawn weights")
    assert said.startswith(kept)
    assert f"`{used}` is computed from `self.fc." in said


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("self.w = self.fc.weight", "w"),
        ("self.w = self.fc.weight.t()", "w"),
        ("self.room = torch.empty_like(self.fc.weight)", "room"),
        ("self.n = int(self.fc.weight.size(0))", "n"),
        ("self.total = self.fc.weight.sum(dim=0)", "fc.weight"),
    ],
)
def test_what_follows_the_weights_is_not(kept: str, used: str) -> None:
    assert _said(kept, used, "8 drawn weights") == []


@pytest.mark.parametrize("wrong", [("8",), ("9",), ("9", "8 drawn weights")])
def test_nor_is_anything_where_other_results_are_wrong_too(wrong: tuple[str, ...]) -> None:
    assert _said("self.total = self.fc.weight.sum(dim=0)", "total", *wrong) == []
