"""Answers that are a function and no class, as models write them: the class that calls it is put behind it."""

from __future__ import annotations

import pytest

from grader.ingest import extract
from grader.records import Extraction, Sample

REFERENCE = """import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self{settings}):
        super().__init__()

    def forward(self, x):
        return torch.softmax(x, dim=-1)

def get_inputs():
    return [torch.rand(4, 8)]
"""
KERNEL = """import torch
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(x, y, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + o, mask=o < n, other=float("-inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + tl.program_id(0) * n + o, e / tl.sum(e, 0), mask=o < n)

"""
LAUNCH = """def {name}(x{more}):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y

"""
SOFTMAX = KERNEL + LAUNCH.format(name="softmax", more="")
CHECK = """def check(x):
    return torch.allclose(softmax(x), torch.softmax(x, -1))

def test_softmax():
    return softmax(torch.rand(4, 8, device="cuda"))

if __name__ == "__main__":
    print(check(torch.rand(4, 8, device="cuda")))
"""
FUNCTION = """class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return _launched(x)

def triton_softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return _Softmax.apply(x)
"""
CUDA = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void softmax_kernel(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x]; }
torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), 32);
    return y;
}
"""
'''
EAGER = """extension = load_inline(name="s", cpp_sources="torch::Tensor softmax(torch::Tensor x);", cuda_sources=source,
                        functions=["softmax"])

def softmax(x):
    return extension.softmax(x.contiguous())
"""
LAZY = """_extension = None

def _get():
    global _extension
    if _extension is None:
        _extension = load_inline(name="s", cpp_sources="", cuda_sources=source, functions=["softmax"])
    return _extension

def softmax(x):
    return _get().softmax(x)
"""


def extracted(text: str, prompt: str | None = None, form: str = "transcript") -> Extraction:
    sample = {"id": "s", "origin": "s", "format": form, "text": text, "prompt": prompt}
    return extract(Sample.model_validate(sample))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (SOFTMAX, "softmax"),
        (SOFTMAX + CHECK, "softmax"),
        (KERNEL + LAUNCH.format(name="_launched", more="") + FUNCTION, "triton_softmax"),
        (CUDA + EAGER, "softmax"),
        (CUDA + LAZY, "softmax"),
    ],
)
@pytest.mark.parametrize("reference", ["", REFERENCE.format(settings="")])
def test_the_only_function_that_can_be_meant_is_called(
    code: str, name: str, reference: str
) -> None:
    """With a reference and without, in a file and in a transcript with an example of its use behind it."""
    prompt = f"```python\n{reference}```" if reference else None
    text = f"Here:\n```python\n{code}```\nUse it:\n```python\ny = {name}(x)\n```\n"
    for found in (extracted(text, prompt), extracted(code, prompt, "python")):
        assert found.submission is not None
        assert found.submission.code.startswith(code)
        assert f"_answer = {name}\n" in found.submission.code
        assert "class ModelNew(nn.Module)" in found.submission.code
        assert any(f"`{name}`" in note for note in found.submission.notes)
        assert found.bound_to_reference == bool(reference)
        compile(found.submission.code, "answer.py", "exec")


def test_its_lines_keep_their_places() -> None:
    text = f"Here it is.\n\n```python\n{SOFTMAX}```\nDone.\n"
    submission = extracted(text).submission
    assert submission is not None
    lines = submission.code.split("\n")
    launch = next(i for i, line in enumerate(lines, 1) if "softmax_kernel[" in line)
    assert text.split("\n")[submission.sample_line(launch) - 1] == lines[launch - 1]
    assert submission.sample_line(len(lines) - 1) == 0


def test_the_references_name_chooses_between_two() -> None:
    code = SOFTMAX + LAUNCH.format(name="scaled", more="")
    submission = extracted(code, f"```python\n{REFERENCE.format(settings='')}```").submission
    assert submission is not None
    assert "_answer = softmax\n" in submission.code


def test_the_constructors_arguments_are_passed_where_the_function_takes_them() -> None:
    code = KERNEL + LAUNCH.format(name="softmax", more=", dim")
    submission = extracted(code, f"```python\n{REFERENCE.format(settings=', dim')}```").submission
    assert submission is not None
    assert "_answer(*inputs, *self.settings)" in submission.code


def test_several_that_may_be_meant_are_named() -> None:
    found = extracted(SOFTMAX + LAUNCH.format(name="scaled", more=""))
    assert found.submission is None
    assert "`softmax`, `scaled`" in found.found


def test_one_that_takes_other_inputs_is_named() -> None:
    code = KERNEL + LAUNCH.format(name="softmax", more=", mask, scale")
    found = extracted(code, f"```python\n{REFERENCE.format(settings='')}```")
    assert found.submission is None
    assert "with the arguments of the task's forward: `softmax`" in found.found


@pytest.mark.parametrize(
    "text", [SOFTMAX + "# a class ModelNew was asked for\n", KERNEL, "import triton\n"]
)
def test_where_a_class_was_asked_for_or_nothing_is_launched_there_is_no_submission(
    text: str,
) -> None:
    assert extracted(text).submission is None
