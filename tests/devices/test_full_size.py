"""The look at full size: it accuses only of what the block that ran has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import pipeline
from grader.config import Options
from grader.devices.full_size import _filled
from grader.records import Submission
from grader.store import Store
from grader.tasks import builtin_tasks

INTO_ZEROS = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) y[i] = x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
module = load_inline(
    name="into_zeros", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=CUDA,
    functions=["relu"],
)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x.contiguous())
'''


@pytest.mark.slow
def test_a_kernel_that_writes_into_zeros_is_right(tmp_path: Path) -> None:
    options = Options(device="sim", repair=False, cache=tmp_path)
    workshop = pipeline.open_workshop(options, Store(tmp_path), 7)
    submission = Submission(sample="zeros", code=INTO_ZEROS, line_map=(), how="test")
    evaluation = pipeline.evaluate(workshop, submission, builtin_tasks()["relu"])
    assert evaluation.verdict.status == "correct", evaluation.verdict.sentence
    assert evaluation.verdict.general, evaluation.verdict.reasons


@given(st.floats(-5, 5).filter(lambda fill: fill != 0), st.integers(1, 40))
def test_an_initial_fill_says_nothing(fill: float, computed: int) -> None:
    values = np.full(100, fill)
    values[:computed] = np.arange(computed) + 10.0
    mask = _filled(values, np.ones(100, np.bool_))
    assert mask[computed:].all()
    assert not mask[:computed].any()


def test_without_a_fill_zeros_are_a_blocks_own() -> None:
    written = np.arange(100) < 32
    assert not _filled(np.zeros(100), written).any()
