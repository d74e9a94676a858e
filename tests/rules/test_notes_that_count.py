"""Notes with a number in them: it is what the task's own sizes give, or nothing is said."""

from __future__ import annotations

import pytest

from grader.records import Context, Task, TensorSpec, Workload
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_text


def notes(code: str, rule: str, *shape: int) -> list[str]:
    workloads = (
        Workload(name="w", role="nominal", inputs=(TensorSpec(shape=(64, 8)),)),
        Workload(name="f", role="full", inputs=(TensorSpec(shape=shape),)),
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    found = review_text(parse(as_submission(code)), Context(task=task), select=(rule,))
    return [finding.message for finding in found]


PARTS = """
__global__ void rows(const float* x, float* y, int n) {
    extern __shared__ float part[];
    int last = LAST;
    for (int t = threadIdx.x; t <= last; t += blockDim.x) part[t] = x[t];
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = part[last];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    rows<<<n, 32, n * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


@pytest.mark.parametrize(("last", "told"), [("blockIdx.x", False), ("0", True)])
def test_what_other_blocks_use_of_shared_memory_is_not_too_much(last: str, told: bool) -> None:
    said = notes(PARTS.replace("LAST", last), "MEM002", 64, 8)
    assert any("bytes too many" in one for one in said) == told
