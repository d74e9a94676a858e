"""`from grader import grade`: cheap to import, says what a person wants to know, shows hostile words as words."""

from __future__ import annotations

import html
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest

from grader import api, grade
from grader.errors import UsageError
from tests.report.payloads import PAYLOADS
from tests.whole import ROOT, transcript

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 3


def get_inputs():
    return [torch.rand(64)]
"""
RELU = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) y[i] = x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
module = load_inline("api_relu", ["torch::Tensor run(torch::Tensor x);"], [source],
                     functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
'''


@pytest.fixture
def text_only(tmp_path: Path) -> dict[str, object]:
    return {"device": "none", "cache": tmp_path / "cache"}


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, grader; print(sorted(m for m in sys.modules if m.split('.')[0] in "
    code += "{'grader', 'pydantic', 'numpy', 'torch', 'typing'}))"
    told = subprocess.run(
        [sys.executable, "-S", "-c", code], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert told.stdout.strip() == "['grader']", told.stderr


def test_grading_a_text_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys; from grader import grade; print(grade('none', device='none', cache=sys.argv[1]).status,"
    code += "'torch' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    told = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert told.stdout.split() == ["no_code", "False"], told.stderr


def test_an_attribute_that_is_not_there_is_an_attribute_error() -> None:
    import grader

    with pytest.raises(AttributeError, match="grad"):
        _ = grader.grad


def test_what_is_said_of_one_answer(text_only: dict[str, object]) -> None:
    stages: list[str] = []
    answer = (ROOT / "samples" / "mean_dim_dispatch.txt").read_text("utf-8")
    found = grade(answer, task="mean-dim", stage=stages.append, **text_only)
    assert (found.status, found.review.task.name) == ("not_run", "mean-dim")
    assert found.sentence == found.review.verdict.sentence
    assert {item.rule for item in found.findings} == {item.rule for item in found.review.findings}
    assert found.findings[0].severity != "error"  # nothing ran that could prove it
    assert found.fix is None
    assert found.reference is None
    head, sentence, first, *_ = repr(found).splitlines()
    assert head == "not_run · mean-dim · not run"
    assert sentence == found.sentence
    assert found.findings[0].rule in first
    assert f"line {found.findings[0].place.line}" in first
    assert "evaluate" in stages


def test_calls_share_what_is_opened_and_what_was_graded(text_only: dict[str, object]) -> None:
    with ThreadPoolExecutor(4) as pool:
        texts = [transcript(n) for n in range(4)] * 3
        graded = list(pool.map(lambda text: grade(text, task="relu", **text_only), texts))
    said = [repr(one) for one in graded]  # times differ where two graded the same text side by side
    assert said[:4] == said[4:8] == said[8:]
    grade(texts[0], task="relu", **text_only)
    before = api._context_for.cache_info()
    stages: list[str] = []
    assert (
        grade(texts[0], task="relu", stage=stages.append, **text_only).findings
        == graded[0].findings
    )
    assert not stages, "it is read from the store"
    assert api._context_for.cache_info().misses == before.misses


def test_the_task_is_a_name_a_path_or_a_text(tmp_path: Path, text_only: dict[str, object]) -> None:
    path = tmp_path / "7_Triple.py"
    path.write_text(PROBLEM)
    by_path = grade(transcript(1), task=str(path), **text_only).review.task
    by_text = grade(transcript(1), task=PROBLEM, **text_only).review.task
    assert by_path.reference == by_text.reference == PROBLEM
    assert by_text.reason == "the problem's text was given"


def test_an_answer_may_be_a_file(tmp_path: Path, text_only: dict[str, object]) -> None:
    path = tmp_path / "answer.md"
    path.write_text(transcript(2))
    assert grade(path, task="relu", **text_only).review.origin == str(path)
    many = tmp_path / "answers.jsonl"
    many.write_text('{"completion": "a"}\n{"completion": "b"}\n')
    with pytest.raises(UsageError, match="2 samples"):
        grade(many, **text_only)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"devcie": "sim"}, "did you mean 'device'"),
        ({"device": "tpu"}, "choose one of auto"),
        ({"task": "softmx"}, "did you mean softmax"),
        ({"task": "def model():\n    pass\n"}, "defines no `Model`"),
    ],
)
def test_wrong_input_is_said_with_the_nearest_right_word(
    wrong: dict[str, str], said: str, text_only: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match=said):
        grade("text", **{**text_only, **wrong})


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_a_notebook_shows_hostile_words_in_a_frame_where_nothing_runs(
    text_only: dict[str, object],
) -> None:
    hostile = transcript(4).replace("Here is", "\n".join(PAYLOADS) + "\nHere is")
    shown = grade(hostile, task="relu", **text_only)._repr_html_()
    (outer,) = Tags(shown).seen
    assert outer[0] == "iframe"
    assert outer[1]["sandbox"] == ""
    page = outer[1]["srcdoc"] or ""
    inner = Tags(page).seen
    assert not {tag for tag, _ in inner} & {"script", "iframe", "img", "object", "form", "base"}
    assert not [name for _, found in inner for name in found if name.startswith("on")]
    assert "default-src &#39;none&#39;" in page
    assert html.escape(PAYLOADS[0]) in page.replace("&#34;", "&quot;")


def test_the_text_form_has_no_control_characters(text_only: dict[str, object]) -> None:
    hostile = transcript(5).replace("int i", "\x1b[2Jint i").replace("scale", "sc\u202eale")
    shown = repr(grade(hostile, task="relu", **text_only))
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.slow
def test_a_wrong_kernel_comes_with_code_that_passes() -> None:
    """Built and run on the simulator; its fix, given in turn, is right."""
    wrong = grade(RELU, task="relu", device="sim")
    assert wrong.status == "incorrect"
    assert wrong.fix is not None
    assert wrong.reference is not None
    assert ".fix holds code that passes" in repr(wrong)
    assert grade(wrong.fix, task="relu", device="sim", repair=False).status == "correct"
