"""Which built-in task an answer is for: right, or none; hardly ever a wrong one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ingest import extract, read_samples
from grader.records import Sample
from grader.tasks import infer
from grader.tasks.clues import words_of
from grader.tasks.infer import ENOUGH

from .transcripts import Made, answers, compounds

SEEDS = Path("/work/shared/seeds")


def inferred(text: str):
    sample = Sample(id="x", origin="x", format="transcript", text=text)
    return infer(sample, extract(sample))


def outcome(made: Made) -> str:
    found = inferred(made.text)
    name = found.best.entry.task.name if found.best and found.confidence >= ENOUGH else None
    if name == made.task:
        return "right"
    return "none" if name is None else "wrong"


def test_answers_in_many_styles():
    tally = Counter(outcome(made) for made in answers())
    total = sum(tally.values())
    assert tally["wrong"] <= tally["none"]
    assert tally["wrong"] <= total // 100
    assert tally["right"] >= 0.95 * total


THINKING = """Let me think. Like a softmax or a layer norm, one block for each row, a warp reduction
for the sum, then one for the max. A matmul would tile shared memory; ReLU is one thread an element.
The mean divides by the number of elements. A cumulative sum would need a scan, a conv im2col.
The L2 norm needs a square root, the L1 norm absolute values, argmax keeps indices.

"""


def test_thinking_about_other_operations_does_no_harm():
    some = [made for number, made in enumerate(answers()) if number % 5 == 0]
    tally = Counter(outcome(Made(THINKING + m.text, m.task, m.style)) for m in some)
    assert tally["wrong"] == 0
    assert tally["right"] >= 0.9 * len(some)


@pytest.mark.parametrize("arguments", ["", "x", "*shape", "num_features: int = 3, **more"])
def test_any_signature_is_read(arguments):
    body = f"    def __init__(self, {arguments}):\n        super().__init__()\n"
    text = MATMUL.replace("matmul", "rms_norm").format(sizes="int n", doc="") + "\n" + body
    assert inferred(text).reason


def test_compounds_are_nobodys_answer():
    assert [made.style for made in compounds() if outcome(made) == "wrong"] == []


MATMUL = """
import torch, torch.nn
from torch.utils.cpp_extension import load_inline
src = \"\"\"
__global__ void matmul_kernel(const float* A, const float* B, float* C, {sizes}) {{}}
\"\"\"
matmul = load_inline(name="matmul", cpp_sources="", cuda_sources=src, functions=["matmul_cuda"])
class ModelNew(nn.Module):
    {doc}
    def forward(self, A, B):
        return matmul.matmul_cuda(A, B)
"""


@pytest.mark.parametrize(
    ("sizes", "doc", "task"),
    [
        ("int M, int K, int N", "", "matmul"),
        ("int N", "", "matmul-square"),
        ("int N", '"""A and B are lower triangular matrices."""', "matmul-lower"),
        ("int N", '"""Computes C = A * B for symmetric matrices A and B."""', "matmul-symmetric"),
    ],
)
def test_look_alikes_of_matmul(sizes, doc, task):
    found = inferred(MATMUL.format(sizes=sizes, doc=doc))
    assert found.best.entry.task.name == task


def activation(body: str, name: str) -> str:
    return MATMUL.replace("matmul", name).replace("{{}}", f"{{{{ {body} }}}}").replace("A, B", "x")


@pytest.mark.parametrize(
    ("name", "body", "task"),
    [
        ("gelu", "C[0] = 0.5f * A[0] * (1.0f + erff(A[0] * 0.70710678f));", "gelu"),
        (
            "new_gelu",
            "C[0] = 0.5f * v * (1 + tanhf(0.79788f * (v + 0.044715f * v3)));",
            "gelu-tanh",
        ),
        ("l1_norm", "float mean = sum / dim; C[0] = A[0] / mean;", "l1-norm-mean"),
        ("l1_norm", "C[0] = A[0] / sum;", "l1-norm-sum"),
    ],
)
def test_look_alikes_by_their_code(name, body, task):
    found = inferred(activation(body, name).format(sizes="int n", doc=""))
    assert found.best.entry.task.name == task


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed transcripts are not on this machine")
@pytest.mark.parametrize(
    ("seed", "task"),
    [("000", "l2-norm"), ("001", "l2-norm"), ("003", "l1-norm-mean"), ("004", "rms-norm")],
)
def test_seeds(seed, task):
    (path,) = SEEDS.glob(f"{seed}_*.txt")
    (sample,) = read_samples([str(path)])
    found = infer(sample, extract(sample))
    assert found.best.entry.task.name == task
    assert found.confidence > 0.8
    assert "have that name" in found.reason


@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text_is_no_answer(text):
    found = inferred(text)
    assert found.best is None or found.confidence < ENOUGH
    assert found.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l2NormKernel(float* x)", "l2 norm kernel float x"),
        ("RMSNormCuda", "rms norm cuda"),
        ("avg_pool2d_forward", "avg pool 2d forward"),
        ("conv_transpose3d", "conv transpose 3d"),
        ("logSoftmax", "log softmax"),
        ("LayerNorm", "layer norm"),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(("more", "task"), [("", "conv-transposed-3d"), (", scaling_factor", None)])
def test_a_constructor_that_asks_for_more_is_another_task_s(more, task):
    found = inferred(f"""```python
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    \"\"\"Transposed 3D convolution.\"\"\"
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding{more}):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
    def forward(self, x):
        return self.conv_transpose(x)
```""")
    sure = found.best is not None and found.confidence >= ENOUGH
    assert (found.best.entry.task.name if sure else None) == task
