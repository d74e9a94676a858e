"""Blocks of Triton kernels by which nothing goes on have to cover their row."""

from __future__ import annotations

import pytest

from grader.source import parse
from grader.source.analysis.triton import launches
from grader.source.analysis.triton_axes import whole_blocks

CODE = """import triton
import triton.language as tl

@triton.jit
def rows(x_ptr, n, BLOCK: tl.constexpr):
    i = INDEX
    tl.store(x_ptr + tl.program_id(0) * n + i, 0.0, mask=i < n)

def run(x):
    size = 1024
    rows[(len(x),)](x, x.shape[1], BLOCK=size)
"""


@pytest.mark.parametrize(
    ("index", "whole"),
    [
        ("tl.arange(0, BLOCK)", ["1024"]),
        ("tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)", []),
        ("sum(range(0, n, BLOCK)) + tl.arange(0, BLOCK)", []),
    ],
)
def test_what_a_launch_gives_for_a_block_that_has_to_cover_its_row(
    index: str, whole: list[str]
) -> None:
    source = parse(CODE.replace("INDEX", index))
    assert [source.text(one) for one in whole_blocks(launches(source)[0])] == whole
