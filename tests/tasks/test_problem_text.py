"""A task's reference as a problem file: one that is run gives inputs of the workload's shapes and types."""

from __future__ import annotations

from typing import Any

import pytest

from grader.records import TensorSpec
from grader.tasks import builtin_tasks
from grader.tasks.problem import missing_names, with_makers


@pytest.mark.parametrize("name", ["adam-step", "embedding-bag", "sliding-window-attention"])
def test_a_reference_with_makers_runs_on_what_they_make(name: str) -> None:
    task = builtin_tasks()[name]
    space: dict[str, Any] = {}
    text = with_makers(task)
    assert missing_names(text) == ()
    exec(text, space)
    made = space["get_inputs"]()
    for value, item in zip(made, task.workloads[0].inputs, strict=True):
        if isinstance(item, TensorSpec):
            assert (tuple(value.shape), str(value.dtype)) == (item.shape, f"torch.{item.dtype}")
    space["Model"](*space["get_init_inputs"]())(*made)


def test_a_text_that_has_makers_stays_as_it_is() -> None:
    task = builtin_tasks()["relu"]
    own = task.reference + "\ndef get_inputs():\n    return []\n"
    assert with_makers(task.model_copy(update={"reference": own})) == own
