"""IDX011: which uses of an axis say that its length was meant."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Task, TensorSpec, Workload
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

CODE = '''
import torch
from torch.utils.cpp_extension import load_inline
source = """
__global__ void scale(const float* x, float* y, int64_t rows, int n) {
    int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x, int dim) {
    auto y = torch::empty_like(x);
    BODY
    return y;
}
"""
declared = "torch::Tensor run(torch::Tensor x, int dim);"
ops = load_inline(name="ops", cpp_sources=declared, cuda_sources=source, functions=["run"])


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.contiguous()
        return ops.run(x, self.dim)
'''
LAUNCH = "scale<<<1024, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), ROWS, COLUMNS);"
AS_LENGTH = LAUNCH.replace("ROWS", "x.size(0)").replace("COLUMNS", "dim")


def found(
    body: str, axis: int = 1, wrong: bool = False, given: bool = True
) -> list[tuple[str, str]]:
    code = CODE.replace("BODY", body)
    if not given:
        code = code.replace("(self, dim):", f"(self, dim: int = {axis}):")
    init = (axis,) if given else ()
    work = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(8, 64)),), init=init)
    task = Task(name="t", title="t", source="file", reference="", workloads=(work,))
    item = Evidence(kind="mismatch", code="values", text="wrong", workload="w")
    context = Context(task=task, evidence=(item,) if wrong else (), device="sim")
    return [
        (finding.severity, apply(code, finding.fixes[0].edits))
        for finding in detected_with_fixes("IDX011", parse(code), context)
    ]


@pytest.mark.parametrize(("wrong", "severity"), [(True, "error"), (False, "warning")])
def test_the_axis_length_is_passed_instead(wrong: bool, severity: str) -> None:
    ((said, after),) = found(AS_LENGTH, wrong=wrong)
    assert said == severity
    assert "return ops.run(x, x.size(self.dim))" in after


@pytest.mark.parametrize(
    "body",
    [
        AS_LENGTH.replace("dim", "x.size(dim)"),
        "TORCH_CHECK(dim == 1);\n    " + AS_LENGTH,
        "auto sizes = x.sizes();\n    "
        + LAUNCH.replace("ROWS", "dim * sizes[dim]").replace("COLUMNS", "1"),
    ],
)
def test_an_axis_that_chooses_is_no_length(body: str) -> None:
    assert not found(body)


def test_an_axis_that_only_the_answer_names_counts_too() -> None:
    assert len(found(AS_LENGTH, given=False)) == 1


def test_a_length_by_the_name_of_an_axis_is_one() -> None:
    assert not found(AS_LENGTH, axis=64)
