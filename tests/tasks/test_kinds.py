"""The list of built-in tasks: every one under a kind, with its types."""

from __future__ import annotations

import pytest

from grader import sandbox
from grader.errors import UsageError
from grader.execution.folder_audit import audit_builtin
from grader.tasks import builtin_tasks
from grader.tasks.kinds import OF_FAMILY, by_kind, types_of


def test_every_task_stands_under_one_kind() -> None:
    listed = [entry.task.name for some in by_kind().values() for entry in some]
    assert sorted(listed) == sorted(builtin_tasks())


def test_no_kind_of_a_family_that_has_no_task() -> None:
    assert set(OF_FAMILY) <= {task.family for task in builtin_tasks().values()}


def test_types_are_those_of_the_arguments() -> None:
    assert types_of(builtin_tasks()["matmul-w8a8"]) == "int8, float32"
    assert (
        types_of(builtin_tasks()["embedding-bag"]) == "int64, float32 (also bf16, fp16, backward)"
    )


def test_built_in_tasks_are_audited_by_name_in_all_their_types() -> None:
    found = list(audit_builtin("swiglu*", sandbox.strongest(), sandbox.Limits()))
    assert [one.name for one in found] == ["swiglu", "swiglu-bf16", "swiglu-fp16"]
    assert not any(one.weak for one in found)
    with pytest.raises(UsageError, match="does not exist"):
        list(audit_builtin("nosuchtask", sandbox.strongest(), sandbox.Limits()))
