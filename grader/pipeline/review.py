"""One sample through all stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from grader import judge, tasks
from grader.diagnose import Program, deepen
from grader.ingest import extract
from grader.pipeline.assembly import assemble, bare
from grader.pipeline.clock import Clock, Stage
from grader.pipeline.context import (
    GradingContext,
    described,
    review_key,
)
from grader.pipeline.evaluation import evaluate, init_of, weighed
from grader.pipeline.examination import examine, inspected, probed
from grader.pipeline.problem_names import with_problem_names
from grader.pipeline.repairs import find_fix, find_reference_fixed
from grader.pipeline.smaller_sizes import at_sizes_that_fit
from grader.records import (
    Assessment,
    Evaluation,
    Extraction,
    Finding,
    Repair,
    Review,
    Sample,
    Submission,
    Task,
    TaskChoice,
    Verdict,
)
from grader.repair import Fixed
from grader.rules import explained

T = TypeVar("T")


@dataclass(frozen=True)
class _Made:
    """A review, and whether nothing of ours failed in it; else it is made again the next time."""

    review: Review
    whole: bool = False


def review(grading: GradingContext, sample: Sample, stage: Stage = lambda _stage: None) -> Review:
    """Grade and review one sample; whatever fails on our side becomes `grader_error`, never a verdict."""
    key = review_key(grading, sample)
    stored = None if grading.options.fresh else grading.store.read("review", key)
    if stored is not None:
        known = Review.model_validate_json(stored)
        return known.model_copy(update={"sample": sample.id, "origin": sample.origin})
    made = _review(grading, sample, stage)
    if made.whole and made.review.verdict.status != "grader_error":
        grading.store.write("review", key, made.review.model_dump_json().encode())
    return made.review


def _review(grading: GradingContext, sample: Sample, stage: Stage) -> _Made:
    clock = Clock(stage)
    extraction = Extraction(submission=None)
    choice = TaskChoice(task=None, how="none", reason="not looked for", confidence=0.0)
    try:
        with clock.stage("read"):
            extraction = extract(sample)
        with clock.stage("task"):
            choice = choose_task(grading, sample, extraction)
            if extraction.submission is not None:
                whole = with_problem_names(extraction.submission, choice.task)
                extraction = extraction.model_copy(update={"submission": whole})
        return _reviewed(grading, sample, extraction, choice, clock)
    except Exception as error:  # noqa: BLE001 - whatever we did wrong, the batch goes on
        evaluation = bare(grading, extraction, _our_failure(error))
        return _Made(assemble(grading, sample, extraction, choice, evaluation, clock))


def assess(grading: GradingContext, sample: Sample, task: Task | None = None) -> Assessment:
    """Judge one answer as `review` does, without deeper diagnosis, repair and reports.

    `task` is what was asked; without it the sample's text says. Whatever fails on our side becomes
    `grader_error`, never a verdict.
    """
    extraction = Extraction(submission=None)
    try:
        extraction = extract(sample)
        if extraction.submission is None:
            return Assessment(evaluation=bare(grading, extraction, _no_code(sample, extraction)))
        choice = TaskChoice(task=task, how="option", reason="what was asked") if task else None
        chosen = choose_task(grading, sample, extraction, choice).task
        submission = with_problem_names(extraction.submission, chosen)
        extraction = extraction.model_copy(update={"submission": submission})
        task, evaluation = _settled(grading, sample, extraction, chosen, submission)
        found = examine(grading, sample, extraction, task, submission, evaluation)
        findings = judge.in_keeping(evaluation.verdict, found)
        return Assessment(evaluation=evaluation, findings=findings)
    except Exception as error:  # noqa: BLE001 - as in _review
        return Assessment(evaluation=bare(grading, extraction, _our_failure(error)))


def build_ahead(grading: GradingContext, sample: Sample) -> str:
    """Build a sample's submission; return the build's address, empty where there is nothing to build.

    Never raises for what a sample is: `review` will say what came of it.
    """
    device = grading.device
    try:
        extraction = extract(sample)
        submission = extraction.submission
        if device is None or submission is None:
            return ""
        task = choose_task(grading, sample, extraction).task
        submission = with_problem_names(submission, task)
        device.build(submission, init_of(task))
        return device.build_key(submission)
    except Exception:  # noqa: BLE001 - a build ahead is no more than a start
        return ""


def _our_failure(error: Exception) -> Verdict:
    return Verdict(
        status="grader_error",
        sentence="The grader itself failed; this says nothing about the submission.",
        reasons=(f"{type(error).__name__}: {error}",),
    )


def _no_code(sample: Sample, extraction: Extraction) -> Verdict:
    if sample.unreadable:
        return Verdict(
            status="grader_error",
            sentence="Its file could not be read; this says nothing about the submission.",
            reasons=(sample.unreadable,),
        )
    return Verdict(status="no_code", sentence=f"There is no code to grade: {extraction.found}.")


def _reviewed(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    choice: TaskChoice,
    clock: Clock,
) -> _Made:
    submission = extraction.submission
    if submission is None:
        return _without_code(grading, sample, extraction, choice, clock)

    def examined(program: Submission, evaluation: Evaluation) -> tuple[Finding, ...]:
        return examine(grading, sample, extraction, choice.task, program, evaluation)

    def judged(program: Submission, *, closely: bool = True) -> Evaluation:
        evaluation = evaluate(grading, program, choice.task, closely=closely)
        return weighed(grading, choice.task, evaluation, examined(program, evaluation))

    trouble: list[str] = []
    asked = choice.task
    with clock.stage("evaluate"):
        task, evaluation = _settled(grading, sample, extraction, choice.task, submission)
        choice = choice.model_copy(update={"task": task})
    with clock.stage("diagnose"):
        first = inspected(grading, sample, extraction, choice.task, submission, evaluation)
        findings = first.findings
        if evaluation.verdict.status == "incorrect" and not explained(findings):
            evaluation = probed(grading, choice.task, submission, evaluation)
            findings = examined(submission, evaluation)
        start = Program(submission, evaluation, findings)
        only: tuple[Program, ...] = (start,)
        states = _beyond(
            "the deeper diagnosis", trouble, only, lambda: deepen(start, judged, examined)
        )
    repaired: tuple[Repair | None, str] = (None, "")
    if grading.options.repair and choice.task and grading.device:
        with clock.stage("repair"):
            attempted = partial(judged, closely=False)
            parts = (grading, choice.task, states, judged, attempted, examined)
            repaired = _beyond(
                "the search for a repair", trouble, repaired, lambda: find_fix(*parts)
            )
    fixed = _fixed(grading, sample, extraction, asked, clock, trouble)
    result = assemble(
        grading,
        sample,
        extraction,
        choice,
        evaluation,
        clock,
        states,
        tuple(filter(None, (repaired[0], fixed.repair))),
        repaired[1],
        fixed.note,
        (*first.trouble, *trouble),
    )
    return _Made(result, whole=not trouble)


def _without_code(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    choice: TaskChoice,
    clock: Clock,
) -> _Made:
    """Return the review of a sample without code: what it should have been is known all the same."""
    nothing = bare(grading, extraction, _no_code(sample, extraction))
    trouble: list[str] = []
    fixed = _fixed(grading, sample, extraction, choice.task, clock, trouble)
    result = assemble(
        grading,
        sample,
        extraction,
        choice,
        nothing,
        clock,
        repairs=tuple(filter(None, (fixed.repair,))),
        reference_note=fixed.note,
        trouble=tuple(trouble),
    )
    return _Made(result, whole=not trouble)


def _fixed(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    clock: Clock,
    trouble: list[str],
) -> Fixed:
    """Return the reference-fixed kernel of the task as it was asked, or why there is none."""
    if not grading.options.repair or grading.device is None:
        return Fixed()
    if task is None:
        return Fixed(note="No reference-fixed kernel: the task isn't known.")

    def judged(program: Submission) -> Evaluation:
        evaluation = evaluate(grading, program, task)
        findings = examine(grading, sample, extraction, task, program, evaluation)
        return weighed(grading, task, evaluation, findings)

    failed = Fixed(note="No reference-fixed kernel: writing one failed in the grader.")
    with clock.stage("reference"):
        return _beyond(
            "the reference-fixed kernel",
            trouble,
            failed,
            lambda: find_reference_fixed(grading, task, judged),
        )


def _settled(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    submission: Submission,
) -> tuple[Task | None, Evaluation]:
    """Return how a submission is judged, and on which sizes of the task."""

    def judged(task: Task | None) -> Evaluation:
        evaluation = evaluate(grading, submission, task)
        findings = examine(grading, sample, extraction, task, submission, evaluation)
        return weighed(grading, task, evaluation, findings)

    evaluation = judged(task)
    if task is None:
        return None, evaluation
    return at_sizes_that_fit(grading, task, submission, evaluation, judged)


def _beyond(what: str, trouble: list[str], instead: T, work: Callable[[], T]) -> T:
    """Do what goes beyond the verdict; where the grader fails in it, the verdict stands without it."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours
        trouble.append(f"{what} failed in the grader: {type(error).__name__}: {error}"[:500])
        return instead


def choose_task(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    choice: TaskChoice | None = None,
) -> TaskChoice:
    """Return the choice that was made already, or the sample's own, with its workloads."""
    options = grading.options
    asked = choice is not None
    if choice is None:
        choice = tasks.choose(sample, extraction, task=options.task, tasks_dir=options.tasks)
    if choice.task is None or choice.task.workloads:
        return choice
    filled = described(grading, choice.task)
    if filled.workloads or asked:
        return choice.model_copy(update={"task": filled})
    plain = tasks.choose(
        sample, extraction, task=options.task, tasks_dir=options.tasks, drafts=False
    )
    if plain.task is None:
        return choice.model_copy(update={"task": filled})
    because = f"{plain.reason} ({choice.task.name} could not be used: {filled.notes[-1]})"
    return plain.model_copy(update={"reason": because})
