"""The reference-fixed kernel: a good engineer's solution of the task.

It is the task's, not a sample's: all answers to a task get the same text, so it is written, built and
verified once for all of them. It has two forms: a plain one to learn from, and a fast one. What counts is the plain
one; the fast one is examined where there is no plain one that passes, or where a device can say what it gains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader import execution, sandbox
from grader.diagnose import Examiner
from grader.records import Evaluation, Form, Repair, Submission, Task
from grader.repair.compose import UncoveredError, compose, read_graph
from grader.repair.compose.write import Composed
from grader.repair.families import Names, kernel_of_family
from grader.repair.plain_triton import triton_code
from grader.repair.with_gradients import gradient_task, join_passes
from grader.tasks import builtin_tasks
from grader.tasks.backward import SUFFIX
from grader.tasks.precision import as_made
from grader.tasks.problem import with_makers

UNFINISHED = {"timeout", "hung", "not_run", "build_timeout", "grader_error"}
"""Verdicts that say nothing against a program."""


@dataclass(frozen=True)
class Fixed:
    """A task's reference-fixed kernel, or why there is none."""

    repairs: tuple[Repair, ...] = ()
    """The kernel in one or both forms, the one to show first."""
    note: str = ""
    """Why, in a sentence; empty where there is one."""


def reference_fixed(
    task: Task, examiner: Examiner, form: sandbox.Form, *, both: bool, in_triton: bool = False
) -> Fixed:
    """Write the task's kernel, put it through the same evaluation, and return it if it passed.

    The plain form alone where it passes, unless `both` are asked for. `in_triton` asks for that form in Triton, where there
    is one that passes.
    """
    if task.backward:
        return _with_gradients(task, examiner, form)
    plain = _examine_form(task, examiner, "plain", triton_code(task) if in_triton else None)
    if not plain.repairs:
        plain = _examine_form(task, examiner, "plain", reference_code(task))
    if plain.repairs and not both:
        return plain
    try:
        code = reference_code(task, "fast") or compose_for_task(task, form).code
    except UncoveredError as error:
        return Fixed(plain.repairs, "" if plain.repairs else f"No reference-fixed kernel: {error}.")
    fast = _examine_form(task, examiner, "fast", code)
    found = plain.repairs + fast.repairs
    return Fixed(found, "" if found else fast.note)


def _with_gradients(task: Task, examiner: Examiner, form: sandbox.Form) -> Fixed:
    """Return one program of the kernels of both passes: the gradients' are composed from their formula."""
    base = builtin_tasks().get(task.name.removesuffix(SUFFIX))
    if base is None:
        return Fixed(note="No reference-fixed kernel: none is written for these gradients.")
    try:
        gradients = gradients_code(base, form)
        results = reference_code(base) or compose_for_task(base, form).code
    except UncoveredError as error:
        return Fixed(note=f"No reference-fixed kernel: {error}.")
    return _examine_form(task, examiner, "plain", join_passes(base, results, gradients))


def _examine_form(task: Task, examiner: Examiner, form: Form, code: str | None) -> Fixed:
    if code is None:
        return Fixed()
    evaluation = examiner.examine(program(code, task.name)).evaluation
    if form == "plain" and evaluation.verdict.general is False:
        return Fixed()  # a kernel that fails at other sizes is no example to learn from
    if evaluation.verdict.status != "correct":
        return Fixed(note=f"No reference-fixed kernel: {_say_failure(evaluation)}")
    passed = Repair(kind="reference", form=form, code=code, evaluation=evaluation, title=task.title)
    return Fixed((passed,))


def _say_failure(evaluation: Evaluation) -> str:
    """Return a sentence on the failure of our own program, which is the grader's shortcoming."""
    verdict = evaluation.verdict
    because = verdict.sentence.removesuffix(".")
    if verdict.status in UNFINISHED:
        return (
            f"one was written, but could not be verified within the limits of this run ({because})."
        )
    return f"one was written, but its evaluation said {verdict.status}: {because}. That is the grader's own shortcoming."


def program(code: str, name: str) -> Submission:
    """Return our own program as a submission; `name` is used as the sample's id."""
    lines = (0,) * len(code.splitlines())
    return Submission(sample=name, code=code, line_map=lines, how="reference-fixed kernel")


def reference_code(task: Task, form: Form = "plain") -> str | None:
    """Return the text of a form that a family has written; None for a task of no such family."""
    return kernel_of_family(task, _names(task), form)


def compose_for_task(task: Task, form: sandbox.Form) -> Composed:
    """Return the program that is written from the reference, traced in a guest of this form.

    Raises UncoveredError, with the reason, where no family covers an operation of it.
    """
    text = with_makers(task)
    graph = read_graph(execution.trace(text, form, sandbox.Limits()))
    extension = _names(task).extension
    return compose(
        as_made(text, task.precision), graph, f"{task.title}: reference-fixed kernel", extension
    )


def gradients_code(task: Task, form: sandbox.Form) -> str:
    """Return the program that computes a built-in task's gradients; raises UncoveredError where there is none."""
    asked = gradient_task(task)
    return reference_code(asked, "fast") or compose_for_task(asked, form).code


def _names(task: Task) -> Names:
    plain = re.sub(r"\W+", "_", task.name).strip("_") or "kernel"
    plain = f"problem_{plain}" if plain[0].isdigit() else plain
    return Names(extension=f"{plain}_extension", function=f"{plain}_forward")
