"""Reference-fixed kernels of built-in tasks: whole programs, and nothing in them that our own rules complain of."""

from __future__ import annotations

import ast

import pytest

from grader.records import Context, Form, Task
from grader.repair.compose.stages import overlapping_windows
from grader.repair.families.kernels import MOST_LINES, cuda_lines
from grader.repair.reference import reference_code
from grader.source import parse
from grader.tasks import builtin_tasks
from grader.tasks.precision import in_precision
from tests.rules.reviews import review_text

ALIKE = {"elementwise", "matmul", "conv"}
"""Families whose programs differ in a line: one of each will do."""


FAST = ("cosine-loss", "cumsum-reverse", "l2-norm", "mse-loss", "rms-norm", "triplet-loss")  # fmt: skip
"""A task for each fast template."""


def chosen() -> list[tuple[str, Form]]:
    found: dict[str, str] = {}
    for name, task in builtin_tasks().items():
        if task.family:
            found.setdefault(task.family if task.family in ALIKE else name, name)
    return [*((name, "plain") for name in sorted(found.values())), *((name, "fast") for name in FAST)]  # fmt: skip


def written(name: str, form: Form = "plain") -> tuple[Task, str]:
    task = builtin_tasks()[name]
    code = reference_code(task, form)
    assert code is not None
    return task, code


@pytest.mark.parametrize(("name", "form"), chosen())
def test_a_whole_program_without_findings(name: str, form: Form) -> None:
    task, code = written(name, form)
    classes = [node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    assert classes == ["ModelNew"]
    assert "{{ " not in code
    assert "{%" not in code
    found = review_text(parse(code), Context(task=task))
    assert [(item.rule, item.message) for item in found if item.severity != "note"] == []


@pytest.mark.parametrize("name", sorted(n for n, t in builtin_tasks().items() if t.family))
def test_every_task_of_a_family_has_a_plain_kernel_that_fits_a_page(name: str) -> None:
    _, code = written(name)
    lines = cuda_lines(code)
    assert 0 < len(lines) <= MOST_LINES
    assert any(line.lstrip().startswith("//") for line in lines)
    assert "float4" not in code  # no vectors
    assert "{{ " not in code


def test_a_family_is_asked_in_half_precision_only_where_it_knows_types() -> None:
    relu, bag = (in_precision(builtin_tasks()[name], "fp16") for name in ("relu", "embedding-bag"))
    assert relu is not None
    assert bag is not None
    assert reference_code(relu) is None  # it is composed from a trace
    assert reference_code(builtin_tasks()["relu"], "fast") is None
    assert "const c10::Half* __restrict__ table" in (reference_code(bag) or "")


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "padding", "expected"),
    [
        (3, 2, 1, 0, ((2, 3, 2, 1, 0),)),
        ((3, 3), (2, 2), 1, (1, 1), ((2, 3, 2, 1, 1),)),
        (2, 2, 1, 0, ()),  # windows that share nothing
        (2, 2, 3, 0, ((2, 2, 2, 3, 0),)),
        ((3, 5), 1, 1, 0, ()),  # not alike along the axes
        (3, 1, 1, (0, 1), ()),
        (11, 11, 1, 0, ()),
        (33, 1, 1, 0, ()),  # too large to unroll
        (5, 1, 2, 0, ()),  # more lines than a thread keeps
        (None, None, 1, 0, ()),
    ],
)
def test_windows_that_overlap_are_known_to_the_compiler(
    kernel: object, stride: object, dilation: object, padding: object, expected: object
) -> None:
    assert overlapping_windows(2, kernel, stride, dilation, padding) == expected
