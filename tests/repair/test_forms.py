"""Both forms of a reference-fixed kernel: which is examined, which is shown, and that the plain ones are right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.context import GradingContext
from grader.pipeline.evaluation import evaluate
from grader.records import Evaluation, Status, Submission, Task, Verdict
from grader.repair import reference, reference_code, reference_fixed
from grader.repair.compose import UncoveredError
from grader.repair.compose.write import Composed
from grader.repair.reference import program
from grader.sandbox import strongest
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.examiners import Scripted
from tests.whole import ENOUGH_FOR_RUNS

SOFTMAX = builtin_tasks()["softmax"]
FAST = "# composed"


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a task of a family be composed, and no other one: nothing is traced here."""

    def compose(task: Task, _form: object) -> Composed:
        if not task.family:
            raise UncoveredError("nothing is traced here")
        return Composed(FAST, ())

    monkeypatch.setattr(reference, "compose_for_task", compose)


def judge(**statuses: Status) -> tuple[Callable[[Submission], Evaluation], list[str]]:
    """Return an `evaluate` that gives each form its status, and the list of forms that it was asked for."""
    asked: list[str] = []
    form_of = {reference_code(SOFTMAX): "plain", FAST: "fast"}

    def evaluated(submission: Submission) -> Evaluation:
        asked.append(form_of[submission.code])
        verdict = Verdict(status=statuses[asked[-1]], sentence=f"{asked[-1]} it is.")
        return Evaluation(submission="0" * 64, device="sim", sandbox="none", verdict=verdict)

    return evaluated, asked


@pytest.mark.parametrize(
    ("both", "plain", "fast", "examined", "passed"),
    [
        (False, "correct", "correct", ["plain"], ["plain"]),
        (True, "correct", "correct", ["plain", "fast"], ["plain", "fast"]),
        (True, "correct", "timeout", ["plain", "fast"], ["plain"]),
        (False, "incorrect", "correct", ["plain", "fast"], ["fast"]),
        (False, "timeout", "incorrect", ["plain", "fast"], []),
    ],
)
def test_only_what_passed_is_shown_the_plain_one_first(
    both: bool, plain: Status, fast: Status, examined: list[str], passed: list[str]
) -> None:
    evaluated, asked = judge(plain=plain, fast=fast)
    fixed = reference_fixed(SOFTMAX, Scripted(evaluated), strongest(), both=both)
    assert asked == examined
    assert [one.form for one in fixed.repairs] == passed
    assert bool(fixed.note) == (not passed)


def test_a_task_of_no_family_has_a_note() -> None:
    alone = SOFTMAX.model_copy(update={"family": ""})
    fixed = reference_fixed(alone, Scripted(judge()[0]), strongest(), both=True)
    assert fixed.repairs == ()
    assert "nothing is traced here" in fixed.note


ONE_EACH = {t.family: name for name, t in sorted(builtin_tasks().items(), reverse=True) if t.family}


@pytest.fixture(scope="module")
def grading(tmp_path_factory: pytest.TempPathFactory) -> GradingContext:
    cache = tmp_path_factory.mktemp("forms")
    options = Options(device="sim", repair=False, cache=cache, sample_seconds=ENOUGH_FOR_RUNS)
    return pipeline.open_context(options, Store(cache), 7)


@pytest.mark.parametrize("name", sorted(ONE_EACH.values()))
def test_a_plain_kernel_of_each_family_is_right(name: str, grading: GradingContext) -> None:
    task = _without_large_ones(builtin_tasks()[name])
    code = reference_code(task)
    assert code is not None
    verdict = evaluate(grading, program(code, name), task).verdict
    assert (verdict.status, verdict.general) == ("correct", True), verdict.sentence


def _without_large_ones(task: Task) -> Task:
    """Keep the sizes that decide, and other sizes: values that are hard are left to benchmarks/plain_kernels.py."""
    kept = tuple(work for work in task.workloads if work.role in {"nominal", "general"})
    return task.model_copy(update={"workloads": kept})
