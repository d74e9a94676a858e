"""A change of compiled code is said in the words of its source line."""

from __future__ import annotations

import pytest

from grader.records import Counterfactual
from grader.source import parse
from grader.source.analysis.counterfactual import say_change

CODE = """
import triton
import triton.language as tl
@triton.jit
def rows(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * m + cols, mask=cols <= n)
    s = tl.exp(x - 1.0)
    tl.store(y_ptr + row, s)
"""


@pytest.mark.parametrize(
    ("line", "change", "before", "after", "said"),
    [
        (8, "operand", "argument 3", "argument 2", "line 8 takes `m`: with `n` every"),
        (8, "operand", "line 6#2", "%ctaid.y", "line 8 takes `row`: with `blockIdx.y` every"),
        (8, "comparison", "setp.gt.s32", "setp.ge.s32", "line 8 compares with `<=`: with `<` every"),
        (9, "operator", "sub.rn.f32", "add.f32", "line 9 has `-`: with `+` every"),
        (9, "constant", "1", "0", "line 9 has `1.0`: with `0` every"),
        (9, "around", "line 8", "mul.f32 argument 2", "line 9 takes `x`: with `x * n` every"),
        (9, "around", "line 8", "sqrt.rn.f32", "line 9 takes `x`: with `sqrt` of it every"),
        (9, "argument", "1.0 / D", "sqrt(x)", "line 9 gives `scale` as `1.0 / D`: with `sqrt(x)`, where"),
        (9, "argument", "x.stride(0)", "`x.stride(1)` and `x.stride(0)`", "line 9 gives `scale` as `x.stride(0)`: with that and `x.stride(1)` exchanged"),
    ],
)  # fmt: skip
def test_what_a_line_has_and_what_it_needs(
    line: int, change: str, before: str, after: str, said: str
) -> None:
    source = parse(CODE)
    seen = Counterfactual(
        change=change,
        before=before,
        after=after,
        parameter="scale",
        right_before=0.0,
        workloads=3,
    )
    message = say_change(source, source.line_place(line), seen)
    assert message.startswith(said)
    assert message.endswith("element is right on three workloads")
