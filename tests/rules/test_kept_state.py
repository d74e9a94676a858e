"""A reference that carries a state from call to call: the answer that drops it is told so at `forward`."""

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
__global__ void add(const float* x, const float* h, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + h[i];
}
torch::Tensor run(torch::Tensor x, torch::Tensor h) {
    auto y = torch::empty_like(x);
    add<<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<float>(), h.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
ext = load_inline(name="ext", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor h);",
                  cuda_sources=source, functions=["run"])

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(64))

    def forward(self, x):
        return ext.run(x, self.start)
'''


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("probe-kept", "the reference keeps values from one call of forward to the next"),
        ("probe-unsteady", "the same inputs give another result in the next call"),
    ],
)
def test_the_state_is_named_where_forward_begins(code: str, words: str) -> None:
    evidence = (
        Evidence(kind="mismatch", code="values", text="every element is wrong", workload="64"),
        Evidence(kind="probe", code=code, text="called again with the same inputs", workload="64"),
    )
    (found,) = review_text(parse(ANSWER), Context(evidence=evidence), select=("NUM001",))
    assert words in found.message
    assert found.place is not None
    assert ANSWER.splitlines()[found.place.line - 1] == "    def forward(self, x):"


def test_random_numbers_of_its_own_are_named_where_they_are_drawn() -> None:
    code = ANSWER.replace("y[i] = x[i] + h[i];", "y[i] = curand_uniform(&state) < 0.2f ? 0 : x[i];")
    evidence = (
        Evidence(kind="mismatch", code="values", text="every element is wrong", workload="64"),
        Evidence(kind="probe", code="probe-unsteady", text="called again", workload="64"),
    )
    (found,) = review_text(parse(code), Context(evidence=evidence), select=("NUM001",))
    assert "`curand_uniform` draws random numbers of its own" in found.message
    assert found.place is not None
    assert "curand_uniform" in code.splitlines()[found.place.line - 1]
