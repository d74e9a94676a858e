"""Answers that are a C++ extension: the class that calls it is written around it."""

import json
from pathlib import Path

import pytest

from grader.ingest import extract, read_samples
from grader.records import Extraction, Sample

DOUBLED = """\
#include <torch/extension.h>

__global__ void doubled_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

torch::Tensor doubled(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    doubled_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &doubled, "twice its input");
}
"""
FUNCTIONAL = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 8
FACTOR = 2

def halved(value):
    return value / 2

def module_fn(x, weight, scale):
    return F.linear(x, weight) * scale

class Model(nn.Module):
    def __init__(self, width, FACTOR=3):
        super(Model, self).__init__()
        self.weight = nn.Parameter(torch.randn(width, WIDTH))
        self.scale = halved(width)

    def forward(self, x, factor=FACTOR, fn=module_fn):
        return fn(x, self.weight, self.scale)

def get_inputs():
    return [torch.randn(4, WIDTH)]

def get_init_inputs():
    return [WIDTH]
"""
PLAIN = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self{settings}):
        super().__init__()

    def forward(self, x):
        return x

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""


def extracted(text: str, prompt: str | None = None) -> Extraction:
    return extract(Sample(id="s", origin="s.txt", format="transcript", text=text, prompt=prompt))


def test_the_functional_reference_is_called_with_the_extension() -> None:
    found = extracted(DOUBLED, f"```python\n{FUNCTIONAL}```")
    assert found.submission is not None
    code = found.submission.code
    assert "class ModelNew(nn.Module)" in code
    assert "return _extension.forward(x, self.weight, self.scale)" in code
    assert "def forward(self, x, factor=FACTOR):" in code
    assert "FACTOR = 2" in code
    assert "super(ModelNew, self)" in code
    assert "def halved" in code
    assert "WIDTH = 8" in code
    assert "module_fn" not in code
    assert "get_inputs" not in code
    assert found.reference is not None
    assert "module_fn" in found.reference
    assert found.bound_to_reference
    compile(code, "answer.py", "exec")


def test_its_lines_keep_their_places() -> None:
    text = f"Here it is.\n\n```cpp\n{DOUBLED}```\nIt doubles.\n"
    submission = extracted(text).submission
    assert submission is not None
    lines = submission.code.split("\n")
    kernel = next(i for i, line in enumerate(lines, 1) if "void doubled_kernel" in line)
    assert text.split("\n")[submission.sample_line(kernel) - 1] == lines[kernel - 1]
    assert submission.sample_line(1) == 0


def test_a_row_of_an_archive(tmp_path: Path) -> None:
    """The functional reference counts, whatever the row says the operation is called."""
    row = {"Op_Name": "19_ReLU", "Level_ID": 1, "Task_ID": 19, "CUDA_Code": DOUBLED}
    references = {
        "PyTorch_Code_Module": PLAIN.format(settings=""),
        "PyTorch_Code_Functional": FUNCTIONAL,
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row | references) + "\n")
    found = extract(next(iter(read_samples([str(path)]))))
    assert found.submission is not None
    assert "_extension.forward(x, self.weight, self.scale)" in found.submission.code
    assert found.reference is not None
    assert "fn=module_fn" in found.reference


@pytest.mark.parametrize(
    ("settings", "parameters", "call"),
    [
        ("", "torch::Tensor x", "*inputs"),
        (", dim", "const torch::Tensor& x, int64_t dim", "*inputs, *self.settings"),
        (", dim, eps", "torch::Tensor x, int64_t dim", None),
    ],
)
def test_a_plain_reference_says_what_is_passed(
    settings: str, parameters: str, call: str | None
) -> None:
    code = DOUBLED.replace("doubled(torch::Tensor x)", f"doubled({parameters})")
    prompt = f"```python\n{PLAIN.format(settings=settings)}```"
    submission = extracted(f"```cuda\n{code}```", prompt).submission
    assert (submission is None) == (call is None)
    if submission is not None:
        assert f"_extension.forward({call})" in submission.code


@pytest.mark.parametrize(
    "text",
    [
        "The macro PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) binds functions.\n",
        DOUBLED.replace('m.def("forward"', 'm.def("first", &doubled);\n    m.def("second"'),
        DOUBLED.replace('"forward"', "name"),
        DOUBLED.replace("torch::Tensor x)", "float scale)"),
    ],
)
def test_where_it_cannot_be_told_there_is_no_submission(text: str) -> None:
    assert extracted(text).submission is None


def test_the_last_block_counts_and_not_what_was_thought() -> None:
    draft = DOUBLED.replace("2.0f", "3.0f")
    text = f"<think>\n```cpp\n{draft}```\n</think>\n```cpp\n{DOUBLED}```\n"
    submission = extracted(text).submission
    assert submission is not None
    assert "2.0f" in submission.code
    assert "3.0f" not in submission.code


def test_an_answer_that_brings_the_reference_itself_is_not_bound_to_it() -> None:
    found = extracted(f"```python\n{FUNCTIONAL}```\n```cpp\n{DOUBLED}```")
    assert found.submission is not None
    assert not found.bound_to_reference


def test_an_answer_with_its_own_class_is_left_alone() -> None:
    own = "```python\nclass ModelNew:\n    def forward(self, x):\n        return x\n```"
    submission = extracted(f"```cpp\n{DOUBLED}```\n{own}").submission
    assert submission is not None
    assert "_extension" not in submission.code
