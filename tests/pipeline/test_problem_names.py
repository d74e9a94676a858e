"""What an answer may lean on in the problem's file, as KernelBench's own harness lets it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import pipeline
from grader.config import Options
from grader.pipeline import review as stages
from grader.pipeline.problem_names import with_problem_names
from grader.records import Sample, Submission, Task
from grader.store import Store

PROBLEM = """
import math
import torch
import torch.nn as nn

rows, width = 64, 48
size = rows * width
device = torch.device("cuda")

def helper(x):
    return x

class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, x):
        return x * self.scale

def get_inputs():
    return [torch.randn(rows, width)]

def get_init_inputs():
    return [math.pi]
"""
ANSWER = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void scaled(const float* x, float* y, float by, long n) {
    long i = blockIdx.x * 256L + threadIdx.x;
    if (i < n) y[i] = x[i] * by;
}
torch::Tensor scale(torch::Tensor x, double by) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    scaled<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), by, n);
    return y;
}
"""
ext = load_inline(name="scaling", cpp_sources="torch::Tensor scale(torch::Tensor x, double by);",
                  cuda_sources=source, functions=["scale"])

class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, x):
        assert x.size(1) % width == 0
        return ext.scale(x, self.scale)
'''


def borrowed(code: str, reference: str = PROBLEM, source: str = "kernelbench") -> Submission:
    lines = tuple(range(1, len(code.splitlines()) + 1))
    given = Submission(sample="s", code=code, line_map=lines, how="whole")
    task = Task(name="t", title="t", source=source, reference=reference, workloads=())
    return with_problem_names(given, task)


def test_constants_and_imports_of_the_problem_are_put_before_the_code():
    completed = borrowed(ANSWER)
    assert completed.borrowed == ("nn", "width")
    assert completed.code == "import torch.nn as nn\nrows, width = (64, 48)\n" + ANSWER
    assert completed.line_map[:3] == (0, 0, 1)
    assert "`nn`, `width`" in completed.notes[-1]


def test_what_a_constant_is_made_of_comes_with_it():
    code = "class ModelNew:\n    def forward(self, x):\n        return x.view(size)\n"
    assert borrowed(code).code.startswith("rows, width = (64, 48)\nsize = rows * width\nclass")


def test_an_import_of_the_future_stays_in_front():
    code = "from __future__ import annotations\nclass ModelNew(nn.Module):\n    pass\n"
    completed = borrowed(code)
    assert completed.code.splitlines()[:2] == [
        "from __future__ import annotations",
        "import torch.nn as nn",
    ]
    assert completed.line_map == (1, 0, 2, 3)


def test_neither_classes_nor_functions_nor_calls_are_lent():
    code = (
        "class ModelNew(Model):\n    def forward(self, x):\n        return helper(x).to(device)\n"
    )
    assert borrowed(code).code == code


def test_what_only_the_inputs_need_is_left_out():
    code = "def get_inputs():\n    return [rows]\nclass ModelNew:\n    pass\n"
    assert borrowed(code).code == code


def test_a_built_in_task_lends_nothing():
    assert borrowed(ANSWER, source="builtin").code == ANSWER


def test_constants_that_go_round_in_circles_come_to_an_end():
    assert borrowed("print(a)\n", "a = b\nb = a\n").borrowed == ("a",)
    assert borrowed("print(a)\n", "a = a + c\n").borrowed == ()


@given(st.lists(st.sampled_from(["a = 1", "b = a", "c = b + d", "d = e", "import e", "f = c"])))
def test_a_completed_program_reads_no_name_before_the_problem_binds_it(lines):
    completed = borrowed("print(f)\n", "\n".join(lines))
    body = ast.parse(completed.code).body
    assert (len(body) > 1) == bool(completed.borrowed)
    assert completed.line_map.count(0) == len(body) - 1


def test_such_an_answer_is_judged_as_kernelbench_would_and_told(tmp_path):
    """Its twin, where another constant is missing, still stops with NameError."""
    grading = pipeline.open_context(
        Options(device="sim", cache=tmp_path, repair=False), Store(tmp_path), 7
    )
    found = {}
    for name in ("width", "depth"):
        text = ANSWER.replace("% width", f"% {name}")
        sample = Sample(id="s", origin="s", format="jsonl", text=text, prompt=PROBLEM)
        made = stages.review(grading, sample)
        told = [(f.severity, f.place.sample_line) for f in made.findings if f.rule == "EXT003"]
        found[name] = made.verdict.status, sorted(told)
    assert found["width"] == ("correct", [("warning", 19), ("warning", 24)])
    assert found["depth"][0] == "crashed"
    assert "error" in dict(found["depth"][1])


TRIAL = """
model = ModelNew(*get_init_inputs()).cuda()
x = get_inputs()[0].cuda()
out = model(x)
print(out.shape)
"""


def test_lines_that_try_the_model_out_are_left_out_and_told():
    completed = borrowed(ANSWER + TRIAL)
    assert completed.borrowed == ("nn", "width")
    assert completed.code.rstrip().endswith(ANSWER.rstrip())
    assert len(completed.code.splitlines()) == len(completed.line_map)
    assert any("try the model out" in note for note in completed.notes)


@pytest.mark.parametrize(
    "code",
    [
        ANSWER + "def get_inputs():\n    return [3]\ndef get_init_inputs():\n    return []\n" + TRIAL,
        ANSWER + TRIAL.replace("x = get", "ext = x = get"),
        ANSWER + TRIAL + "def more():\n    return 1\n",
    ],
)  # fmt: skip
def test_lines_that_the_answer_needs_or_can_run_stay(code: str):
    assert borrowed(code).code.endswith(code)
