"""What the text of a Triton kernel tells: pointers behind accesses, launches, and what padded lanes hold."""

from __future__ import annotations

import math

import pytest

from grader.source import parse
from grader.source.analysis import triton
from grader.source.analysis.overwritten import place_overwritten
from grader.source.analysis.triton_lanes import lane_of
from tests.corpus import corpus

RIGHT = {one.name: one for one in corpus.originals("triton")}


def kernel(body: str, *, other: str = ", other=0.0") -> triton.Kernel:
    code = f"""
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + cols, mask=mask{other})
{body}
    out = tl.sum(v, axis=0)
    tl.store(y_ptr, out)
"""
    return triton.kernels(parse(code))[0]


def held(body: str, *, other: str = ", other=0.0") -> float | None:
    found = kernel(body, other=other)
    (total,) = found.calls("sum")
    return lane_of(found, total.args[0], total.lineno).number


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("    v = x * x", 0.0),
        ("    v = tl.exp(x)", 1.0),
        ("    v = tl.where(mask, tl.exp(x), 0.0)", 0.0),
        ("    v = tl.where(x > 0, x, x * 3.0)", 0.0),
        ("    v = tl.where(tl.load(y_ptr + cols) > 0, x * n, 0.0)", 0.0),
        ("    v = tl.where(cols == n - 1, x * n + 1.0, 0.0)", 0.0),
        (
            "    q = tl.load(y_ptr, mask=n > 3, other=0.0)\n    v = q * x\n    v = tl.where(cols < n, v, 5.0)",
            5.0,
        ),
        ("    v = x - tl.sum(x, axis=0) / n", None),
        ("    v = tl.zeros([BLOCK], tl.float32)\n    v += x", 0.0),
        ("    v = tl.zeros([BLOCK], tl.float32)\n    v += x - 1.0", -1.0),
    ],
)
def test_a_padded_lane_holds_what_the_formula_makes_of_other(
    body: str, number: float | None
) -> None:
    if "tl.sum(x" in body:
        body = body.replace("tl.sum(x, axis=0)", "tl.max(x, axis=0)")
    assert held(body) == number


def test_minus_infinity_goes_through_a_difference_and_an_exponential() -> None:
    assert held("    v = x - tl.max(x, axis=0)", other=', other=-float("inf")') == -math.inf
    assert held("    v = tl.exp(x - tl.max(x, axis=0))", other=', other=-float("inf")') == 0.0
    assert held("    v = tl.exp(x - tl.max(x, axis=0))", other=", other=-1e9") == 0.0
    assert held("    v = n * x / n", other=', other=-float("inf")') == -math.inf
    assert held("    v = x * -1.0", other=', other=-float("inf")') == math.inf


def test_a_load_without_other_is_unset() -> None:
    found = kernel("    v = x * 2.0", other="")
    (total,) = found.calls("sum")
    lane = lane_of(found, total.args[0], total.lineno)
    assert lane.unset
    assert lane.number is None


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_each_right_program_has_launches_and_a_last_store(name: str) -> None:
    source = parse(RIGHT[name].code)
    assert triton.launches(source)
    assert all(
        one.kernel.parameter_of(a) for one in triton.launches(source) for a in one.kernel.accesses
    )
    assert triton.last_store(source)


def test_what_a_loop_sets_anew_is_found_where_it_is_begun_before_and_used_after() -> None:
    code = next(one for one in corpus.mutants("triton") if one.name == "matmul_grouped--lose-value")
    source = parse(code.code)
    (line,) = code.lines & {n for n, text in enumerate(source.lines, 1) if "acc = tl.dot(" in text}
    found = place_overwritten(source, [source.line_place(line - 1)])
    assert found is not None
    assert found.line == line
    right = parse(code.code.replace("tl.dot(a, b,", "tl.dot(a, b, acc,"))
    assert place_overwritten(right, [right.line_place(line - 1)]) is None
