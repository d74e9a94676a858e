"""Fast kernels where the nominal sizes of their task don't lead: channels that several blocks share, columns in packs."""

from __future__ import annotations

from typing import Any

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.context import GradingContext
from grader.pipeline.evaluation import evaluate
from grader.records import Task, TensorSpec
from grader.repair.reference import compose_for_task, gradients_code, program, reference_code
from grader.repair.with_gradients import join_passes
from grader.sandbox import strongest
from grader.store import Store
from grader.tasks import builtin_tasks, task_named
from grader.tasks.precision import forms


@pytest.fixture(scope="module")
def grading(tmp_path_factory: pytest.TempPathFactory) -> GradingContext:
    cache = tmp_path_factory.mktemp("large")
    return pipeline.open_context(Options(device="sim", repair=False, cache=cache), Store(cache), 7)


@pytest.mark.parametrize(
    ("name", "shape", "init", "found_in_text"),
    [
        pytest.param("max-dim-bf16", (2, 33, 301), (1,), "wide_column_kernel", id="rows that begin anywhere in a pack"),
    ],
)  # fmt: skip
def test_a_fast_kernel_is_right(
    name: str,
    shape: tuple[int, ...],
    init: tuple[Any, ...],
    found_in_text: str,
    grading: GradingContext,
) -> None:
    task = _at_one_size(name, shape, init)
    code = compose_for_task(task, strongest()).code
    assert found_in_text in code
    verdict = evaluate(grading, program(code, name), task).verdict
    assert verdict.status == "correct", verdict.sentence


def _at_one_size(name: str, shape: tuple[int, ...], init: tuple[Any, ...]) -> Task:
    named = {form.name: form for task in builtin_tasks().values() for form in forms(task)}
    task = named[name]
    first = next(work for work in task.workloads if work.role == "nominal")
    given = tuple(
        one.model_copy(update={"shape": shape}) if isinstance(one, TensorSpec) else one
        for one in first.inputs
    )
    made = first.model_copy(update={"inputs": given, "init": init, "name": "one size"})
    return task.model_copy(update={"workloads": (made,)})


def test_gradients_of_layer_norm_are_right_where_no_packs_fill_a_group(
    grading: GradingContext,
) -> None:
    name = "layer-norm-backward"
    first, _, asked = task_named(name, None).workloads[0].inputs
    assert isinstance(first, TensorSpec)
    small = first.model_copy(update={"shape": (6, 3, 5, 7)})
    made = (
        task_named(name, None)
        .workloads[0]
        .model_copy(
            update={"inputs": (small, small, asked), "init": ((3, 5, 7),), "name": "one size"}
        )
    )
    base = builtin_tasks()["layer-norm"]
    code = join_passes(base, reference_code(base) or "", gradients_code(base, strongest()))
    assert "gradient_kernel" in code
    task = task_named(name, None).model_copy(update={"workloads": (made,)})
    verdict = evaluate(grading, program(code, name), task).verdict
    assert verdict.status == "correct", verdict.sentence
