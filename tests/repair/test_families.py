"""Reference-fixed kernels of built-in tasks: whole programs, and nothing in them that our own rules complain of."""

from __future__ import annotations

import ast

import pytest

from grader.records import Task
from grader.repair.families import families
from grader.repair.families.windows import tiled
from grader.repair.reference import reference_code
from grader.rules import Context, review_text
from grader.source import parse
from grader.tasks import builtin_tasks

COVERED = sorted(name for name, task in builtin_tasks().items() if task.family in families())


def written(name: str) -> tuple[Task, str]:
    task = builtin_tasks()[name]
    code = reference_code(task)
    assert code is not None
    return task, code


@pytest.mark.parametrize("name", COVERED)
def test_a_whole_program_without_findings(name: str) -> None:
    task, code = written(name)
    classes = [node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    assert classes == ["ModelNew"]
    assert "{{" not in code and "{%" not in code
    found = review_text(parse(code), Context(task=task))
    assert [(item.rule, item.message) for item in found if item.severity != "note"] == []


def test_a_row_is_shared_by_blocks_that_are_all_on_the_gpu() -> None:
    _, code = written("l2-norm")
    assert "cudaLaunchCooperativeKernel" in code
    assert "__threadfence()" in code


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "expected"),
    [
        (3, 2, 1, ((2, 3, 2, 1),)),
        ((3, 3), (2, 2), 1, ((2, 3, 2, 1),)),
        (2, 2, 1, ()),  # windows that share nothing
        (2, 2, 3, ((2, 2, 2, 3),)),
        ((3, 5), 1, 1, ()),  # not alike along the axes
        (11, 11, 1, ()),
        (33, 1, 1, ()),  # too large to unroll
        (None, None, 1, ()),
    ],
)
def test_windows_that_a_tile_serves(
    kernel: object, stride: object, dilation: object, expected: object
) -> None:
    assert tiled(2, kernel, stride, dilation) == expected
