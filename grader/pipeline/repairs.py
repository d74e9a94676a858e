"""The repair of one submission and the reference-fixed kernel of its task, each passed by the one `evaluate`."""

from __future__ import annotations

from collections.abc import Callable

from grader import build, execution, sandbox
from grader.diagnose import Program
from grader.pipeline.context import GradingContext, known
from grader.pipeline.evaluation import init_of, looks_closer, verdict_of
from grader.records import Evaluation, Finding, JsonValue, Repair, Submission, Task
from grader.repair import (
    Fixed,
    Model,
    find_repair,
    model_repair,
    needs_fix,
    reference_fixed,
    screening,
)


def find_fix(
    grading: GradingContext,
    task: Task,
    states: tuple[Program, ...],
    judged: Callable[[Submission], Evaluation],
    attempted: Callable[[Submission], Evaluation],
    examined: Callable[[Submission, Evaluation], tuple[Finding, ...]],
) -> tuple[Repair | None, str]:
    """Return the repair that passed, or None and how far the search for one got.

    The many candidates of the search are `attempted`; what is shown has been `judged`.
    """
    if not needs_fix(states[0]):
        return None, ""
    return _fixed(grading, task, states, judged, attempted, examined)


def find_reference_fixed(
    grading: GradingContext, task: Task, judged: Callable[[Submission], Evaluation]
) -> Fixed:
    """Return the task's reference-fixed kernel, or why there is none; made once a run for each task."""

    def traced(reference: str) -> JsonValue:
        return execution.trace(reference, grading.form, sandbox.Limits())

    return grading.once(
        grading.fixed, f"fixed {task.key}", lambda: reference_fixed(task, judged, traced)
    )


def _fixed(
    grading: GradingContext,
    task: Task,
    states: tuple[Program, ...],
    judged: Callable[[Submission], Evaluation],
    attempted: Callable[[Submission], Evaluation],
    examined: Callable[[Submission, Evaluation], tuple[Finding, ...]],
) -> tuple[Repair | None, str]:
    quick = _quick(states)
    known_of = {state.submission.key: state.evaluation for state in states}

    def tried(program: Submission) -> Evaluation:
        if program.key not in known_of:
            refused = _refused(grading, program, task) if quick else None
            known_of[program.key] = refused or attempted(program)
        return known_of[program.key]

    screen = screening(grading.device, task, known(grading, task), quick=quick)
    fixed, note = find_repair(states, tried, examined, grading.options.repair_tries, screen)
    if fixed is not None and looks_closer(grading):
        fixed, note = _in_earnest(fixed, states[0].submission, judged)
    if fixed is not None or not grading.options.llm:
        return fixed, note
    model = Model(grading.options.llm)
    fixed, said = model_repair(task, states[-1], judged, model)
    return fixed, f"{note} {said}".strip()


def _in_earnest(
    fixed: Repair, submission: Submission, judged: Callable[[Submission], Evaluation]
) -> tuple[Repair | None, str]:
    """Return the repair with the evaluation that a submission gets, if it passes that too."""
    evaluation = judged(submission.model_copy(update={"code": fixed.code}))
    if evaluation.verdict.status == "correct":
        return fixed.model_copy(update={"evaluation": evaluation}), ""
    return None, f"Not fixed: what passed every workload is {evaluation.verdict.sentence}"


def _quick(states: tuple[Program, ...]) -> bool:
    """Whether the quick compilers' word on a candidate is worth something: they took the program itself."""
    builds = (state.evaluation.build for state in states)
    return not any(made and made.status == "built" and build.stock_way(made) for made in builds)


def _refused(grading: GradingContext, program: Submission, task: Task) -> Evaluation | None:
    """Return the evaluation of a candidate that the quick compilers refuse; None where they take it.

    Theirs is not the last word, so it never becomes a sample's verdict: it saves the search for a repair
    the minutes in which the stock compilers would confirm it.
    """
    device = grading.device
    if device is None:
        return None
    made = device.draft(program, init_of(task))
    if made.status == "built":
        return None
    return Evaluation(
        submission=program.key,
        device=device.name,
        sandbox=grading.form.name,
        build=made,
        verdict=verdict_of(grading, task, made, (), (), ()),
    )
