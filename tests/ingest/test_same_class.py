"""Reference and solution in texts of their own, each with a class `Model`."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.ingest import extract
from grader.ingest.read import read_samples
from grader.records import Sample

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(4, 8)]
"""
TRITON = """import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + o, tl.maximum(tl.load(x + o, mask=o < n), 0), mask=o < n)

class Model(torch.nn.Module):
    def __init__(self):
        super(Model, self).__init__()
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(1,)](x, y, x.numel(), BLOCK=64)
        return y
"""
CUDA = '''import torch
from torch.utils.cpp_extension import load_inline
e = load_inline(name="e", cpp_sources="", cuda_sources="""__global__ void k(float* x) {}""", functions=["f"])
class Model(torch.nn.Module):
    def forward(self, x):
        return e.f(x)
'''


@pytest.mark.parametrize("solution", [TRITON, CUDA])
def test_a_folder_with_both_is_one_sample(tmp_path: Path, solution: str) -> None:
    folder = tmp_path / "runs" / "relu"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text(solution)
    (folder / "reference.py").write_text(REFERENCE)
    (sample,) = read_samples([str(tmp_path)])
    assert sample.id == "relu"
    found = extract(sample)
    assert found.submission is not None
    assert found.reference == REFERENCE
    assert "class ModelNew(torch.nn.Module)" in found.submission.code
    assert found.submission.code.count("\n") == solution.count("\n")
    assert any("the reference beside it" in note for note in found.submission.notes)
    assert "super(Model," not in found.submission.code


def test_a_transcript_that_quotes_the_reference_first(tmp_path: Path) -> None:
    text = f"Make it fast:\n```python\n{REFERENCE}```\nHere:\n```python\n{TRITON}```\n"
    found = extract(Sample(id="s", origin="s", format="transcript", text=text))
    assert found.submission is not None
    assert "class ModelNew" in found.submission.code
    assert found.reference == REFERENCE


def test_where_another_name_was_asked_for_nothing_is_renamed() -> None:
    text = f"Write ModelNew.\n```python\n{REFERENCE}```\n```python\n{TRITON}```\n"
    assert extract(Sample(id="s", origin="s", format="transcript", text=text)).submission is None
    alone = Sample(id="s", origin="s", format="python", text=TRITON)
    assert extract(alone).submission is None
