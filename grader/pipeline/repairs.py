"""The mend of one submission and the reference-fixed kernel of its task, each passed by the one `evaluate`."""

from __future__ import annotations

from collections.abc import Callable

from grader import build, judge, sandbox
from grader.diagnose import Program
from grader.pipeline.evaluation import init_of, looks_closer, verdict_of
from grader.pipeline.workshop import Workshop, known
from grader.records import Evaluation, Finding, JsonValue, Repair, Submission, Task
from grader.repair import (
    Fixed,
    Model,
    mend,
    model_repair,
    needs_mend,
    reference_fixed,
    screening,
)


def find_mend(
    workshop: Workshop,
    task: Task,
    states: tuple[Program, ...],
    judged: Callable[[Submission], Evaluation],
    attempted: Callable[[Submission], Evaluation],
    examined: Callable[[Submission, Evaluation], tuple[Finding, ...]],
) -> tuple[Repair | None, str]:
    """Return the mend that passed, or None and how far the search for one got.

    The many candidates of the search are `attempted`; what is shown has been `judged`.
    """
    if not needs_mend(states[0]):
        return None, ""
    return _mended(workshop, task, states, judged, attempted, examined)


def find_reference_fixed(
    workshop: Workshop, task: Task, judged: Callable[[Submission], Evaluation]
) -> Fixed:
    """Return the task's reference-fixed kernel, or why there is none; made once a run for each task."""

    def traced(reference: str) -> JsonValue:
        return judge.trace(reference, workshop.form, sandbox.Limits())

    return workshop.once(
        workshop.fixed, f"fixed {task.key}", lambda: reference_fixed(task, judged, traced)
    )


def _mended(
    workshop: Workshop,
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
            refused = _refused(workshop, program, task) if quick else None
            known_of[program.key] = refused or attempted(program)
        return known_of[program.key]

    screen = screening(workshop.device, task, known(workshop, task), quick=quick)
    mended, note = mend(states, tried, examined, workshop.options.repair_tries, screen)
    if mended is not None and looks_closer(workshop):
        mended, note = _in_earnest(mended, states[0].submission, judged)
    if mended is not None or not workshop.options.llm:
        return mended, note
    model = Model(workshop.options.llm)
    mended, said = model_repair(task, states[-1], judged, model)
    return mended, f"{note} {said}".strip()


def _in_earnest(
    mended: Repair, submission: Submission, judged: Callable[[Submission], Evaluation]
) -> tuple[Repair | None, str]:
    """Return the mend with the evaluation that a submission gets, if it passes that too."""
    evaluation = judged(submission.model_copy(update={"code": mended.code}))
    if evaluation.verdict.status == "correct":
        return mended.model_copy(update={"evaluation": evaluation}), ""
    return None, f"Not mended: what passed every workload is {evaluation.verdict.sentence}"


def _quick(states: tuple[Program, ...]) -> bool:
    """Whether the quick compilers' word on a candidate is worth something: they took the program itself."""
    builds = (state.evaluation.build for state in states)
    return not any(made and made.status == "built" and build.stock_way(made) for made in builds)


def _refused(workshop: Workshop, program: Submission, task: Task) -> Evaluation | None:
    """Return the evaluation of a candidate that the quick compilers refuse; None where they take it.

    Theirs is not the last word, so it never becomes a sample's verdict: it saves the search for a mend
    the minutes in which the stock compilers would confirm it.
    """
    device = workshop.device
    if device is None:
        return None
    made = device.draft(program, init_of(task))
    if made.status == "built":
        return None
    return Evaluation(
        submission=program.key,
        device=device.name,
        sandbox=workshop.form.name,
        build=made,
        verdict=verdict_of(workshop, task, made, (), (), ()),
    )
