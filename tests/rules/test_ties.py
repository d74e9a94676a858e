"""Exchanges of a best value and its index between threads: ties, and what must stay unaccused."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

SHUFFLED = """
__global__ void lowest(const float* x, int* y, int n) {
    int lane = threadIdx.x;
    float low = INFINITY;
    int where = 0;
    for (int i = lane; i < n; i += 32) {
        float v = x[blockIdx.x * n + i];
        if (v < low) { low = v; where = i; }
    }
    for (int o = 16; o > 0; o >>= 1) {
        float far = __shfl_down_sync(0xffffffff, low, o);
        int far_where = __shfl_down_sync(0xffffffff, where, o);
        if (CONDITION) {
            low = far;
            where = far_where;
        }
    }
    if (lane == 0) y[blockIdx.x] = where;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kInt));
    lowest<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<int>(), x.size(1));
    return y;
}
"""
WRONG = Context(evidence=(Evidence(kind="mismatch", code="values", text="a few are wrong"),))
EXACT = "far < low || (far == low && far_where < where)"


def reviewed(condition: str, context: Context, *rules: str) -> list[tuple[str, str]]:
    code = as_submission(SHUFFLED.replace("CONDITION", condition))
    found = review_with_fixes(parse(code), context, select=rules)
    return [(f.severity, apply(code, [e for one in f.fixes for e in one.edits])) for f in found]


@pytest.mark.parametrize("condition", ["far < low", "far <= low", "low > far", "low >= far"])
def test_the_smaller_index_decides_after_the_fix(condition: str) -> None:
    ((severity, fixed),) = reviewed(condition, WRONG, "RED006")
    assert severity == "error"
    assert "if (v < low)" in fixed  # a thread's own walk goes up: the first one stays
    left, right = ("far", "low") if condition.startswith("far") else ("low", "far")
    sign = condition.split()[1][0]
    assert f"if ({left} {sign} {right} || ({left} == {right} && far_where < where))" in fixed


def test_an_exchange_that_compares_indices_is_left_alone() -> None:
    assert reviewed(EXACT, WRONG, "RED006") == []


def test_taking_the_better_value_with_its_index_loses_nothing() -> None:
    assert reviewed("far < low", WRONG, "RED002") == []
