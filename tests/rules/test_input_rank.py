"""What is said of a host function's two sizes rests on the tensor that it is given, and on wrong results."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Task, TensorSpec, Workload
from grader.source import parse
from tests.rules.reviews import review_with_fixes

ANSWER = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
__global__ void twice(const float* x, float* y, int cols) {{
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[blockIdx.x * cols + i] = 2 * x[blockIdx.x * cols + i];
}}
torch::Tensor twice_rows(torch::Tensor a) {{
    int rows = a.size(0), cols = a.size(1);
    auto y = torch::empty_like(a);
    twice<<<rows, 256>>>(a.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}}
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=["twice_rows"])

class ModelNew(nn.Module):
    def forward(self, x):
        {before}
        return ext.twice_rows(x)
'''
TASK = Task(
    name="t",
    title="t",
    source="file",
    reference="",
    workloads=(Workload(name="images", role="nominal", inputs=(TensorSpec(shape=(2, 3, 4, 4)),)),),
)
MISMATCH = Evidence(kind="mismatch", code="values", text="wrong", workload="images")
TAKES_PART = Evidence(kind="probe", code="kernels-matter", text="others", workload="images")


@pytest.mark.parametrize(
    ("before", "evidence", "said"),
    [
        ("pass", (MISMATCH,), ("error", "proven")),
        ("pass", (TAKES_PART,), ("warning", "likely")),
        ("x = x.view(x.size(0), -1)", (TAKES_PART,), ("note", "likely")),
        ("x = x.view(x.size(0), -1)", (MISMATCH,), ("note", "likely")),
    ],
)
def test_the_tensor_that_is_passed_counts(
    before: str, evidence: tuple[Evidence, ...], said: tuple[str, str]
) -> None:
    source = parse(ANSWER.format(before=before))
    found = review_with_fixes(source, Context(task=TASK, evidence=evidence), select=("IDX",))
    assert [(f.severity, f.confidence) for f in found if f.rule == "IDX005"] == [said]


@pytest.mark.parametrize(("shape", "said"), [((5, 7, 7), "note"), ((5, 7, 9), "error")])
def test_a_square_matrix_has_no_size_that_is_not_looked_at(
    shape: tuple[int, ...], said: str
) -> None:
    work = Workload(name="images", role="nominal", inputs=(TensorSpec(shape=shape),))
    task = TASK.model_copy(update={"workloads": (work,)})
    source = parse(ANSWER.format(before="pass"))
    found = review_with_fixes(source, Context(task=task, evidence=(MISMATCH,)), select=("IDX",))
    assert [f.severity for f in found if f.rule == "IDX005"] == [said]
