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
from grader.pipeline.evaluation import evaluate, init_of, weighed
from grader.pipeline.examination import examine, inspected, probed
from grader.pipeline.lent_names import with_lent_names
from grader.pipeline.repairs import find_mend, find_reference_fixed
from grader.pipeline.smaller_sizes import at_sizes_that_fit
from grader.pipeline.workshop import (
    Workshop,
    described,
    review_key,
)
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


def review(workshop: Workshop, sample: Sample, stage: Stage = lambda _stage: None) -> Review:
    """Grade and review one sample; whatever fails on our side becomes `grader_error`, never a verdict."""
    key = review_key(workshop, sample)
    stored = None if workshop.options.fresh else workshop.store.read("review", key)
    if stored is not None:
        known = Review.model_validate_json(stored)
        return known.model_copy(update={"sample": sample.id, "origin": sample.origin})
    made = _review(workshop, sample, stage)
    if made.whole and made.review.verdict.status != "grader_error":
        workshop.store.write("review", key, made.review.model_dump_json().encode())
    return made.review


def _review(workshop: Workshop, sample: Sample, stage: Stage) -> _Made:
    clock = Clock(stage)
    extraction = Extraction(submission=None)
    choice = TaskChoice(task=None, how="none", reason="not looked for", confidence=0.0)
    try:
        with clock.stage("read"):
            extraction = extract(sample)
        with clock.stage("task"):
            choice = choose_task(workshop, sample, extraction)
            if extraction.submission is not None:
                whole = with_lent_names(extraction.submission, choice.task)
                extraction = extraction.model_copy(update={"submission": whole})
        return _reviewed(workshop, sample, extraction, choice, clock)
    except Exception as error:  # noqa: BLE001 - whatever we did wrong, the batch goes on
        evaluation = bare(workshop, extraction, _our_failure(error))
        return _Made(assemble(workshop, sample, extraction, choice, evaluation, clock))


def assess(workshop: Workshop, sample: Sample, task: Task | None = None) -> Assessment:
    """Judge one answer as `review` does, without deeper diagnosis, repair and reports.

    `task` is what was asked; without it the sample's text says. Whatever fails on our side becomes
    `grader_error`, never a verdict.
    """
    extraction = Extraction(submission=None)
    try:
        extraction = extract(sample)
        if extraction.submission is None:
            return Assessment(evaluation=bare(workshop, extraction, _no_code(sample, extraction)))
        choice = TaskChoice(task=task, how="option", reason="what was asked") if task else None
        chosen = choose_task(workshop, sample, extraction, choice).task
        submission = with_lent_names(extraction.submission, chosen)
        extraction = extraction.model_copy(update={"submission": submission})
        task, evaluation = _settled(workshop, sample, extraction, chosen, submission)
        found = examine(workshop, sample, extraction, task, submission, evaluation)
        findings = judge.in_keeping(evaluation.verdict, found)
        return Assessment(evaluation=evaluation, findings=findings)
    except Exception as error:  # noqa: BLE001 - as in _review
        return Assessment(evaluation=bare(workshop, extraction, _our_failure(error)))


def build_ahead(workshop: Workshop, sample: Sample) -> str:
    """Build a sample's submission; return the build's address, empty where there is nothing to build.

    Never raises for what a sample is: `review` will say what came of it.
    """
    device = workshop.device
    try:
        extraction = extract(sample)
        submission = extraction.submission
        if device is None or submission is None:
            return ""
        task = choose_task(workshop, sample, extraction).task
        submission = with_lent_names(submission, task)
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
    workshop: Workshop, sample: Sample, extraction: Extraction, choice: TaskChoice, clock: Clock
) -> _Made:
    submission = extraction.submission
    if submission is None:
        return _without_code(workshop, sample, extraction, choice, clock)

    def examined(program: Submission, evaluation: Evaluation) -> tuple[Finding, ...]:
        return examine(workshop, sample, extraction, choice.task, program, evaluation)

    def judged(program: Submission, *, closely: bool = True) -> Evaluation:
        evaluation = evaluate(workshop, program, choice.task, closely=closely)
        return weighed(workshop, choice.task, evaluation, examined(program, evaluation))

    trouble: list[str] = []
    asked = choice.task
    with clock.stage("evaluate"):
        task, evaluation = _settled(workshop, sample, extraction, choice.task, submission)
        choice = choice.model_copy(update={"task": task})
    with clock.stage("diagnose"):
        first = inspected(workshop, sample, extraction, choice.task, submission, evaluation)
        findings = first.findings
        if evaluation.verdict.status == "incorrect" and not explained(findings):
            evaluation = probed(workshop, choice.task, submission, evaluation)
            findings = examined(submission, evaluation)
        start = Program(submission, evaluation, findings)
        only: tuple[Program, ...] = (start,)
        states = _beyond(
            "the deeper diagnosis", trouble, only, lambda: deepen(start, judged, examined)
        )
    mended: tuple[Repair | None, str] = (None, "")
    if workshop.options.repair and choice.task and workshop.device:
        with clock.stage("repair"):
            attempted = partial(judged, closely=False)
            parts = (workshop, choice.task, states, judged, attempted, examined)
            mended = _beyond("the search for a repair", trouble, mended, lambda: find_mend(*parts))
    fixed = _fixed(workshop, sample, extraction, asked, clock, trouble)
    result = assemble(
        workshop,
        sample,
        extraction,
        choice,
        evaluation,
        clock,
        states,
        tuple(filter(None, (mended[0], fixed.repair))),
        mended[1],
        fixed.note,
        (*first.trouble, *trouble),
    )
    return _Made(result, whole=not trouble)


def _without_code(
    workshop: Workshop, sample: Sample, extraction: Extraction, choice: TaskChoice, clock: Clock
) -> _Made:
    """Return the review of a sample without code: what it should have been is known all the same."""
    nothing = bare(workshop, extraction, _no_code(sample, extraction))
    trouble: list[str] = []
    fixed = _fixed(workshop, sample, extraction, choice.task, clock, trouble)
    result = assemble(
        workshop,
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
    workshop: Workshop,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    clock: Clock,
    trouble: list[str],
) -> Fixed:
    """Return the reference-fixed kernel of the task as it was asked, or why there is none."""
    if not workshop.options.repair:
        return Fixed()
    if task is None or workshop.device is None:
        why = (
            "the task isn't known"
            if task is None
            else f"nothing can be verified ({workshop.no_device})"
        )
        return Fixed(note=f"No reference-fixed kernel: {why}.")

    def judged(program: Submission) -> Evaluation:
        evaluation = evaluate(workshop, program, task)
        findings = examine(workshop, sample, extraction, task, program, evaluation)
        return weighed(workshop, task, evaluation, findings)

    failed = Fixed(note="No reference-fixed kernel: writing one failed in the grader.")
    with clock.stage("reference"):
        return _beyond(
            "the reference-fixed kernel",
            trouble,
            failed,
            lambda: find_reference_fixed(workshop, task, judged),
        )


def _settled(
    workshop: Workshop,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    submission: Submission,
) -> tuple[Task | None, Evaluation]:
    """Return how a submission is judged, and on which sizes of the task."""

    def judged(task: Task | None) -> Evaluation:
        evaluation = evaluate(workshop, submission, task)
        findings = examine(workshop, sample, extraction, task, submission, evaluation)
        return weighed(workshop, task, evaluation, findings)

    evaluation = judged(task)
    if task is None:
        return None, evaluation
    return at_sizes_that_fit(workshop, task, submission, evaluation, judged)


def _beyond(what: str, trouble: list[str], instead: T, work: Callable[[], T]) -> T:
    """Do what goes beyond the verdict; where the grader fails in it, the verdict stands without it."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours
        trouble.append(f"{what} failed in the grader: {type(error).__name__}: {error}"[:500])
        return instead


def choose_task(
    workshop: Workshop, sample: Sample, extraction: Extraction, choice: TaskChoice | None = None
) -> TaskChoice:
    """Return the choice that was made already, or the sample's own, with its workloads."""
    options = workshop.options
    asked = choice is not None
    if choice is None:
        choice = tasks.choose(sample, extraction, task=options.task, tasks_dir=options.tasks)
    if choice.task is None or choice.task.workloads:
        return choice
    filled = described(workshop, choice.task)
    if filled.workloads or asked:
        return choice.model_copy(update={"task": filled})
    plain = tasks.choose(
        sample, extraction, task=options.task, tasks_dir=options.tasks, drafts=False
    )
    if plain.task is None:
        return choice.model_copy(update={"task": filled})
    because = f"{plain.reason} ({choice.task.name} could not be used: {filled.notes[-1]})"
    return plain.model_copy(update={"reason": because})
