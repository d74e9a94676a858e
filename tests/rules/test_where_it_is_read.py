"""Where runs alone don't say the line: a load that goes nowhere, and a tensor that is read in another order."""

from __future__ import annotations

from grader.records import Context, Counterfactual, Dependence, Details, Evidence, Extent
from grader.records.changes import OtherArgument, PassedTensor
from grader.rules.registry import all_rules
from grader.source import Source, parse

CODE = """
import torch, triton
import triton.language as tl
@triton.jit
def scaled(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    w = tl.load(w_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x, mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        y = torch.empty_like(x)
        scaled[(1,)](x, w, y, x.numel(), BLOCK=64)
        return y
"""
ROW = Extent(first=0, last=9, step=1, count=10, size=10)


def _seen(source: Source, line: int, code: str, details: Details) -> Evidence:
    place = source.line_place(line)
    return Evidence(kind="provenance", code=code, text="the result lacks input 2", place=place, details=details)  # fmt: skip


def test_a_load_that_nothing_uses_is_the_cause_at_the_store() -> None:
    source = parse(CODE)
    gap = Dependence(element=(0,), tensor="input 2", extents=(ROW,), count=1, expected=1)
    context = Context(evidence=(_seen(source, 7, "missing", gap),), device="sim")
    (found,) = all_rules()["DEP001"].check(source, context)
    assert found.place is not None
    assert found.place.line == 9
    assert "line 8 loads `w`, and nothing uses it" in found.message


def test_a_tensor_that_is_read_in_another_order_is_wrong_where_it_is_read() -> None:
    source = parse(CODE)
    change = Counterfactual(
        change=OtherArgument((1,), PassedTensor("w", (0, 1)), given="w", receiver="w_ptr"),
        taken_at=8,
        right_before=0.0,
    )
    seen = _seen(source, 13, "counterfactual-argument", change)
    (found,) = all_rules()["DEP006"].check(source, Context(evidence=(seen,), device="sim"))
    assert found.place is not None
    assert found.place.line == 8
    assert found.message.startswith("line 8 reads `w_ptr` as if dims 0 and 1 of w were exchanged")
