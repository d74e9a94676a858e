"""Weights of its own making hide no second defect: what stays zero with the reference's weights is told as well."""

from __future__ import annotations

from grader.records import Context, Evidence, Task, TensorSpec, Workload, WrongValues
from grader.source import parse
from tests.rules.reviews import review_text

REFERENCE = """
class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc = nn.Linear(i, o, bias=False)
    def forward(self, x):
        return self.fc(x)
"""
CODE = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = """
__global__ void product(const float* x, const float* w, float* y, int n, int k, int m) {
    int j = blockIdx.y * blockDim.x + threadIdx.x;
    if (blockIdx.x >= n || j >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += x[blockIdx.x * k + i] * w[j * k + i];
    y[blockIdx.x * m + j] = sum;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    auto y = torch::zeros({x.size(0), w.size(0)}, x.options());
    product<<<dim3(1, (w.size(0) + 255) / 256), 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), w.size(0));
    return y;
}
"""
ext = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);",
                  cuda_sources=source, functions=["run"])

class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))
    def forward(self, x):
        return ext.run(x, self.weight)
'''
OWN, GIVEN = "8x8", "8x8 drawn weights"


def zeros(workload: str, share: float) -> Evidence:
    values = WrongValues(share=share, whole=False)
    text = f"{share:.0%} of the wrong are zero"
    return Evidence(kind="mismatch", code="zeros", text=text, workload=workload, details=values)


def said(*evidence: Evidence) -> list[tuple[str, bool]]:
    """Return the errors, each with whether it tells of zeros."""
    inputs = (TensorSpec(shape=(8, 8)),)
    workloads = (
        Workload(name=OWN, role="nominal", inputs=inputs, init=(8, 8)),
        Workload(name=GIVEN, role="general", inputs=inputs, init=(8, 8), weights="drawn"),
    )
    task = Task(name="t", title="t", source="file", reference=REFERENCE, workloads=workloads)
    found = review_text(parse(CODE), Context(task=task, evidence=evidence, device="sim"))
    return [(f.rule, "is zero where" in f.message) for f in found if f.severity == "error"]


PLAIN = Evidence(kind="mismatch", code="values", text="every element is wrong", workload=OWN)


def test_zeros_with_the_references_weights_are_told_beside_the_weights() -> None:
    rows = Evidence(kind="mismatch", code="region", text="only rows from 1 on", workload=GIVEN)
    assert said(PLAIN, zeros(GIVEN, 1.0), rows) == [("NUM001", True), ("NUM006", False)]
    assert said(zeros(OWN, 0.98), zeros(GIVEN, 1.0)) == [("NUM001", True), ("NUM006", False)]


def test_other_numbers_may_come_of_the_weights_alone() -> None:
    given = PLAIN.model_copy(update={"workload": GIVEN})
    assert said(PLAIN, given) == [("NUM006", False)]
    assert said(PLAIN, zeros(GIVEN, 0.9)) == [("NUM006", False)]
