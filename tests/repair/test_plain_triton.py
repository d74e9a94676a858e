"""The plain kernels in Triton: one for each family, whole programs, and right where they are run."""

from __future__ import annotations

import ast

import pytest

from grader.languages import names_in
from grader.repair.plain_triton import edit_code, programs, triton_code
from grader.source import parse
from grader.tasks import builtin_tasks

TASKS = builtin_tasks()


IN_CUDA_ALONE = {
    *("", "attention-back", "embedding-bag", "gating", "histogram", "selective-scan"),
    *(
        "matmul-fp8",
        "matmul-w4a16",
        "moe-matmul",
        "mxfp4",
        "nms",
        "paged-attention",
        "quantise",
        "top-p",
    ),
}
"""Families without a plain kernel in Triton yet (an empty name: composed from a trace)."""


def test_every_family_has_one() -> None:
    families = {one.family for one in TASKS.values()}
    assert families - {TASKS[name].family for name in programs()} == IN_CUDA_ALONE


@pytest.mark.parametrize("name", sorted(programs()))
def test_it_is_a_whole_program_in_triton(name: str) -> None:
    code = triton_code(TASKS[name])
    assert code is not None
    ast.parse(code)
    assert names_in(parse(code)) == {"triton"}
    assert "class ModelNew" in code


def test_an_edit_that_misses_is_an_error() -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        edit_code("a", [("b", "c")])
