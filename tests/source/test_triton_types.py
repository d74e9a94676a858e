"""What decides the type of a value in a Triton kernel."""

from __future__ import annotations

import pytest

from grader.source.analysis.triton_values import deciders
from tests.source.test_triton import kernel


@pytest.mark.parametrize(
    ("made", "decide"),
    [
        ("v = x * x + 1.0", {"tl.load(x_ptr + cols, mask=mask, other=0.0)"}),
        ("v = (x * 2).to(tl.float16)", {"tl.float16"}),
        ("v = tl.where(mask, x.to(tl.float32), 0.0)", {"tl.float32"}),
        ("v = tl.zeros((BLOCK,), dtype=tl.bfloat16)", {"tl.bfloat16"}),
        ("v = tl.full((BLOCK,), 0.0, tl.float16)", {"tl.float16"}),
        ("v = x / n", {"x / n"}),
        ("v = tl.exp(x)", {"tl.exp(x)"}),
    ],
)  # fmt: skip
def test_loads_casts_and_new_blocks_decide_a_type(made: str, decide: set[str]) -> None:
    found = kernel(f"    {made}")
    (total,) = found.calls("sum")
    assert {found.source.text(one) for one in deciders(found, total.args[0])} == decide


def test_what_is_made_of_itself_ends() -> None:
    found = kernel("    v = x\n    for _ in range(3):\n        v = v + x")
    (total,) = found.calls("sum")
    assert len(list(deciders(found, total.args[0]))) == 1
