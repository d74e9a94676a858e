"""What the pipeline makes of a task that can't be used."""

from __future__ import annotations

from types import SimpleNamespace

from grader import pipeline
from grader.config import Options
from grader.pipeline import prepare, repairs
from grader.pipeline import review as stages
from grader.pipeline.prepare import Prepared, choose_task
from grader.pipeline.written_numbers import limits, written_numbers
from grader.records import Extraction, KernelBenchId, Sample, Submission
from grader.store import Store

CODE = "import torch\nclass ModelNew(torch.nn.Module): pass\n"
PROBLEM = "class Model: pass\ndef get_inputs():\n    return []\n"


def test_the_reason_says_that_a_problem_file_was_not_used(tmp_path, monkeypatch):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "94_MSELoss.py").write_text(PROBLEM)
    monkeypatch.setattr(
        prepare,
        "describe_draft",
        lambda _, task: task.model_copy(update={"notes": ("it is too large",)}),
    )
    monkeypatch.setattr(prepare, "is_described", lambda *_: True)
    grading = SimpleNamespace(
        options=SimpleNamespace(task=None, tasks=tmp_path, dtype=None, backward=False),
        form=None,
        limits=None,
    )
    sample = Sample(
        id="s",
        origin="s",
        format="python",
        text=CODE,
        kernelbench=KernelBenchId(level=1, problem=94, sample=0),
    )
    submission = Submission(sample="s", code=CODE, line_map=(), how="")
    choice = choose_task(grading, Prepared(sample, Extraction(submission=submission)))
    assert choice.task is not None
    assert choice.task.name == "mse-loss"
    assert "94_MSELoss could not be used: it is too large" in choice.reason


def test_a_repair_that_fails_in_the_grader_costs_no_verdict(tmp_path, monkeypatch):
    def broken(*_):
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(repairs, "asks_for_change", broken)
    options = Options(device="sim", cache=tmp_path)
    grading = pipeline.open_context(options, Store(tmp_path), 7)
    code = "```python\nimport torch\nclass ModelNew(torch.nn.Module):\n"
    code += "    def forward(self, x):\n        return torch.relu(x)\n```\n"
    sample = Sample(id="s", origin="s", format="transcript", text=code, task_hint="relu")
    review = stages.review(grading, sample)
    assert review.verdict.status == "correct", review.verdict
    assert "the search for a repair failed in the grader: IndexError" in " ".join(review.notes)
    monkeypatch.undo()
    again = stages.review(grading, sample)
    assert "failed in the grader" not in " ".join(again.notes), "kept from the first time"


WIDE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
#define WIDTH 96
// one block a row; no more than WIDTH of its columns
__global__ void twice(const float* x, float* y) {
    int i = blockIdx.x * WIDTH + threadIdx.x;
    y[i] = 2.0f * x[i];
}
torch::Tensor twice_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice<<<x.size(0), WIDTH>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
ext = load_inline(name="wide", cpp_sources="torch::Tensor twice_rows(torch::Tensor x);",
                  cuda_sources=source, functions=["twice_rows"])

class ModelNew(nn.Module):
    def forward(self, x):
        return ext.twice_rows(x)
'''
ROWS = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return 2 * x

batch_size = 4096
dim = 96

def get_inputs():
    return [torch.randn(batch_size, dim)]

def get_init_inputs():
    return []
"""


def test_sizes_that_an_answer_writes_into_its_code_are_asked_before_it_is_called_wrong(tmp_path):
    """Right where a row has 96 columns, as the task's have, and nowhere else."""
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path), Store(tmp_path), 7)
    verdicts = []
    for code in (WIDE, WIDE.replace("2.0f", "3.0f")):
        sample = Sample(id="s", origin="s", format="jsonl", text=code, prompt=ROWS)
        found = stages.assess(grading, sample).evaluation.verdict
        verdicts.append((found.status, found.general))
    assert verdicts == [("correct", False), ("incorrect", None)]


TURNS = (
    WIDE.replace("#define WIDTH 96", "")
    .replace(
        WIDE[WIDE.index("__global__") : WIDE.index("torch::Tensor twice_rows")],
        """__global__ void twice(const float* x, float* y, long n) {
    long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
__global__ void thrice(const float* x, float* y, long n) {
    long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) y[i] = 3.0f * x[i];
}
""",
    )
    .replace(
        "    twice<<<x.size(0), WIDTH>>>(x.data_ptr<float>(), y.data_ptr<float>());",
        """    long n = x.numel(), blocks = (n + 255) / 256;
    if (x.size(1) > 2048) twice<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    else thrice<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);""",
    )
)
"""Right for rows of more than 2048 elements."""


def test_a_way_that_the_tasks_own_size_never_takes_is_not_what_it_is_judged_by(tmp_path):
    """Only small sizes take the wrong way: right as asked, not in general. Not so where the full size takes it."""
    grading = pipeline.open_context(Options(device="sim", cache=tmp_path), Store(tmp_path), 7)
    other_way = TURNS.replace("> 2048", "< 2048")
    one_kernel = TURNS.replace("thrice<<<", "twice<<<").replace("= 2.0f", "= (n > 500000 ? 2.0f : 3.0f)")  # fmt: skip
    verdicts = []
    for code in (TURNS, other_way, one_kernel):
        prompt = ROWS.replace("dim = 96", "dim = 4095")
        sample = Sample(id="s", origin="s", format="jsonl", text=code, prompt=prompt)
        found = stages.assess(grading, sample).evaluation.verdict
        verdicts.append((found.status, found.general))
    assert verdicts == [("correct", False), ("incorrect", None), ("incorrect", None)]


def test_what_is_compared_with_a_number_on_the_host_limits_a_way():
    assert limits(Submission(sample="s", code=TURNS, line_map=(), how="")) == {2048}


def test_numbers_of_the_code_but_not_of_its_comments():
    found = written_numbers(
        Submission(sample="s", code=WIDE.replace("no more", "no 4096"), line_map=(), how="")
    )
    assert 96 in found
    assert 4096 not in found


def test_a_limit_after_a_division_in_python_is_seen() -> None:
    code = "def forward(x):\n    return x if x.numel() // 2 > 4096 else x + 1\n"
    answer = Submission(sample="s", code=code, line_map=(), how="test")
    assert limits(answer) == {4096}


SQUARE = (
    WIDE.replace("#define WIDTH 96", "")
    .replace(
        WIDE[WIDE.index("__global__") : WIDE.index("torch::Tensor twice_rows")],
        """__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best = 0.0f;
    for (int j = 0; j < n; ++j) best = fmaxf(best, fabsf(x[j]));
    if (i < n) y[i] = 2.0f * (x[i] / best) * best;
}
""",
    )
    .replace(
        "    twice<<<x.size(0), WIDTH>>>(x.data_ptr<float>(), y.data_ptr<float>());",
        """    int n = x.numel();
    twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);""",
    )
)
"""Each thread looks at the whole input."""


def test_a_program_that_takes_too_long_is_judged_at_smaller_sizes(tmp_path):
    options = Options(device="sim", cache=tmp_path, run_seconds=2)
    grading = pipeline.open_context(options, Store(tmp_path), 7)
    prompt = ROWS.replace("dim = 96", "dim = 4096")
    quick = SQUARE.replace("j < n", "j < 0").replace("best = 0.0f", "best = 1.0f")
    verdicts = []
    for code in (quick, SQUARE, SQUARE.replace("2.0f *", "3.0f *")):
        sample = Sample(id="s", origin="s", format="jsonl", text=code, prompt=prompt)
        found = stages.assess(grading, sample).evaluation
        verdicts.append((found.verdict.status, found.runs[0].workload))
    assert verdicts == [("correct", "16x4096"), ("correct", "2x1024"), ("incorrect", "2x1024")]
