"""MEM001's fix compares an index with a count, not with the length of a row."""

from __future__ import annotations

from grader.records import Context, Task, TensorSpec, Workload
from grader.source import parse
from tests.rules.reviews import detected_with_fixes

from .fixed import program

ROWS = """
__global__ void first(const float* x, float* y, int cols, int count) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    y[r] = x[r * cols + 1];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    first<<<(x.size(0) + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.numel());
    return y;
}
"""


def test_a_factor_of_the_index_is_no_limit() -> None:
    load = Workload(name="n", role="nominal", inputs=(TensorSpec(shape=(97, 3)),))
    task = Task(name="t", title="t", source="file", reference="", workloads=(load,))
    found = detected_with_fixes("MEM001", parse(program(ROWS)), Context(task=task))
    labels = {one.label for finding in found for one in finding.fixes}
    assert "guard the access with `r * cols + 1 < count`" in labels
    assert not any("+ 1 < cols" in label for label in labels)
