"""The look at full size: it accuses only of what the block that ran has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import pipeline
from grader.config import Options
from grader.devices.sim.first_rows import is_square
from grader.pipeline.evaluation import evaluate
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

ONE_ROW_FOR_ALL = INTO_ZEROS.replace(
    "return module.relu(x.contiguous())",
    "return module.relu(x[:1]).expand_as(x) if len(x) > 1000 else module.relu(x)",
)


@pytest.mark.slow
def test_one_row_that_stands_for_all_is_wrong(tmp_path: Path) -> None:
    options = Options(device="sim", repair=False, cache=tmp_path)
    grading = pipeline.open_context(options, Store(tmp_path), 7)
    submission = Submission(sample="row", code=ONE_ROW_FOR_ALL, line_map=(), how="test")
    verdict = evaluate(grading, submission, builtin_tasks()["relu"]).verdict
    assert verdict.status == "incorrect", verdict.sentence
    assert "the task's full size" in verdict.sentence


@pytest.mark.slow
def test_a_kernel_that_writes_into_zeros_is_right(tmp_path: Path) -> None:
    options = Options(device="sim", repair=False, cache=tmp_path)
    grading = pipeline.open_context(options, Store(tmp_path), 7)
    submission = Submission(sample="zeros", code=INTO_ZEROS, line_map=(), how="test")
    evaluation = evaluate(grading, submission, builtin_tasks()["relu"])
    assert evaluation.verdict.status == "correct", evaluation.verdict.sentence
    assert evaluation.verdict.general, evaluation.verdict.reasons
    assert evaluation.verdict.seen_at == "sampled blocks"


TWO_LAUNCHES = '''
import torch
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void clear(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.0f;
}
__global__ void keep(const float* x, float* y, int n, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && WHERE && x[i] > 0.0f) y[i] = x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel(), columns = x.size(-1);
    clear<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    keep<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, columns);
    return y;
}
"""
module = load_inline(
    name="two_launches", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source, functions=["relu"]
)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x.contiguous())
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "status"), [("i % columns < 200000", "incorrect"), ("true", "correct")]
)
def test_two_launches_run_on_the_first_rows_of_the_full_size(
    where: str, status: str, tmp_path: Path
) -> None:
    options = Options(device="sim", repair=False, cache=tmp_path)
    grading = pipeline.open_context(options, Store(tmp_path), 7)
    code = TWO_LAUNCHES.replace("WHERE", where)
    submission = Submission(sample="two", code=code, line_map=(), how="test")
    verdict = evaluate(grading, submission, builtin_tasks()["relu"]).verdict
    assert verdict.status == status, verdict.sentence
    if status == "correct":
        assert verdict.seen_at == "first rows"
        assert "on the first rows of the task's own size" in verdict.sentence
    else:
        assert "the first 2 rows of 4096x393216" in verdict.sentence


def test_rows_of_a_square_matrix_are_no_input_that_is_asked_for() -> None:
    square, plain = builtin_tasks()["matmul-square"], builtin_tasks()["matmul"]
    assert (is_square(square, 0), is_square(plain, 0)) == (True, False)
