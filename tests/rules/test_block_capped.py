"""Blocks that are cut off: named where no loop goes on, and the fix adds blocks beside them."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Task, TensorSpec, Workload
from grader.rules.examples import as_submission
from grader.rules.index.block_capped import CODE
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

WRONG = Evidence(kind="mismatch", code="values", text="the end is zero", workload="w")
LAUNCH = "    int threads = std::min(inner, 1024);\n    sums<<<rows, threads>>>"


def context(*shape: int) -> Context:
    load = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=shape),))
    task = Task(name="t", title="t", source="file", reference="", workloads=(load,))
    return Context(task=task, evidence=(WRONG,))


@pytest.mark.parametrize(
    ("launch", "grid"),
    [
        (LAUNCH, "<<<dim3(rows, (inner + 1024 - 1) / 1024), threads>>>"),
        (
            "    dim3 blocks(rows);\n    dim3 threads(inner < 256 ? inner : 256);\n    sums<<<blocks, threads>>>",
            "<<<dim3(blocks.x, (inner + 256 - 1) / 256), threads>>>",
        ),
    ],
)
def test_the_row_is_shared_among_blocks(launch: str, grid: str) -> None:
    code = as_submission(CODE.replace(LAUNCH, launch))
    (found,) = review_with_fixes(parse(code), context(4, 8, 4095), select=("IDX010",))
    assert found.severity == "error"
    fixed = apply(code, found.fixes[0].edits)
    assert grid in fixed
    assert "int i = blockIdx.y * blockDim.x + threadIdx.x;" in fixed
    assert review_with_fixes(parse(fixed), context(4, 8, 4095), select=("IDX010",)) == ()


def test_a_row_that_no_size_of_the_task_makes_too_long_is_no_cause() -> None:
    (found,) = review_with_fixes(parse(as_submission(CODE)), context(4, 8, 64), select=("IDX010",))
    assert found.severity == "warning"


def test_another_size_than_the_kernel_compares_with_is_no_limit_of_it() -> None:
    code = as_submission(CODE.replace("std::min(inner, 1024)", "std::min(rows, 1024)"))
    assert review_with_fixes(parse(code), context(4, 8, 4095), select=("IDX010",)) == ()
