"""Words that Triton doesn't have become its own."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding, Place, ToolMessage
from grader.repair.fixes.triton.words import propose
from grader.source import parse
from grader.source.edits import apply

CODE = """import torch
import triton
import triton.language as tl

FLOOR = 0.0

@triton.jit
def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    total = 0
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    LINE
    tl.store(y_ptr + tl.arange(0, BLOCK), y)
"""


def fixed(line: str, code: str, refused: str, said: str) -> list[str]:
    text = CODE.replace("LINE", line)
    place = Place(line=11, end_line=11, excerpt=refused)
    message = ToolMessage(said=said, tool="triton")
    seen = Evidence(kind="compiler", code=code, text=said, place=place, details=message)
    finding = Finding(
        rule="BLD021", name="refused-by-triton", severity="error", confidence="proven",
        message=said, place=place, evidence=(seen,),
    )  # fmt: skip
    source = parse(text)
    made = (apply(text, one.edits) for one in propose(finding, source, Context()))
    return [
        next(new for old, new in zip(text.splitlines(), whole.splitlines(), strict=False) if old != new).strip()
        for whole in made
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "code", "refused", "said", "first"),
    [
        ("y = tl.tanh(x)", "undefined-name", "tl.tanh(x)", "no attribute", "y = tl.extra.cuda.libdevice.tanh(x)"),
        ("y = tl.abs(torch.exp(x))", "foreign-function", "torch.exp(x)", "must be Tensor", "y = tl.abs(tl.exp(x))"),
        ("y = tl.sum(x, dim=0)", "other-parameters", "tl.sum(x, dim=0)", "unexpected keyword argument 'dim'", "y = tl.sum(x, axis=0)"),
        ("y = x if x > 0 else 0.0", "choice-by-block", "x if x > 0 else 0.0", "dynamic condition", "y = tl.where(x > 0, x, 0.0)"),
        ("y = tl.max(x, 0.0) + tl.max(x, axis=0)", "other-kind", "tl.max(x, 0.0)", "invalid axis", "y = tl.maximum(x, 0.0) + tl.max(x, axis=0)"),
        ("y = x ** 2", "refused", "x ** 2", "unsupported operand", "y = x * x"),
        ("y = tl.maximum(x, FLOOR)", "global-of-module", "FLOOR", "global variable FLOOR", "FLOOR = tl.constexpr(0.0)"),
    ],
)  # fmt: skip
def test_the_first_fix_is_tritons_own_word(
    line: str, code: str, refused: str, said: str, first: str
) -> None:
    assert fixed(line, code, refused, said)[0] == first
