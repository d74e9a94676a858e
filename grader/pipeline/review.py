"""One sample through all stages: prepare -> evaluate -> inspect -> diagnose -> repair -> assemble."""

from __future__ import annotations

from dataclasses import replace

from grader import judge
from grader.pipeline.assembly import Outcome, assemble
from grader.pipeline.building import init_of
from grader.pipeline.clock import Clock, Stage
from grader.pipeline.context import GradingContext, review_key
from grader.pipeline.diagnosis import diagnose_program
from grader.pipeline.examiner import examiner_of
from grader.pipeline.prepare import Prepared, prepare
from grader.pipeline.repairs import reference_kernel, repair_program
from grader.pipeline.sizes import examine_at_sizes_that_decide
from grader.pipeline.verdicts import no_code, our_failure, unbuilt
from grader.records import Assessment, Review, Sample, Submission, Task


def review(grading: GradingContext, sample: Sample, stage: Stage = lambda _stage: None) -> Review:
    """Grade and review one sample; a failure of the grader becomes `grader_error`, never a verdict.

    A review is kept and returned again for the same sample; one with a failure of the grader is not kept.
    """
    key = review_key(grading, sample)
    stored = None if grading.options.fresh else grading.store.read("review", key)
    if stored is not None:
        known = Review.model_validate_json(stored)
        return known.model_copy(update={"sample": sample.id, "origin": sample.origin})
    clock = Clock(stage)
    made = _review(grading, prepare(grading, sample, clock), clock)
    if not clock.trouble and made.verdict.status != "grader_error":
        grading.store.write("review", key, made.model_dump_json().encode())
    return made


def assess(grading: GradingContext, sample: Sample, task: Task | None = None) -> Assessment:
    """Judge one answer as `review` does, without deeper diagnosis, repair and reports.

    `task` is the task; without it the task is inferred from the sample. A failure of the grader becomes `grader_error`,
    never a verdict.
    """
    prepared = prepare(grading, sample, task=task)
    try:
        return _assess(grading, prepared)
    except Exception as error:  # noqa: BLE001 - whatever we did wrong, the batch goes on
        failed = unbuilt(grading, prepared.extraction, our_failure(error))
        return Assessment(evaluation=failed)


def build_ahead(grading: GradingContext, sample: Sample) -> str:
    """Build a sample's submission; return the build's address, empty without a program.

    Never raises for a sample's fault, which `review` will report.
    """
    device, prepared = grading.device, prepare(grading, sample)
    if device is None or prepared.submission is None or prepared.failure is not None:
        return ""
    try:
        device.build(prepared.submission, init_of(prepared.task))
        return device.build_key(prepared.submission)
    except Exception:  # noqa: BLE001 - a build ahead is no more than a start
        return ""


def _assess(grading: GradingContext, prepared: Prepared) -> Assessment:
    submission = _submission(prepared)
    if submission is None:
        return Assessment(evaluation=_without_code(grading, prepared).evaluation)
    program = examine_at_sizes_that_decide(examiner_of(grading, prepared), submission).program
    findings = judge.in_keeping(program.evaluation.verdict, program.findings)
    return Assessment(evaluation=program.evaluation, findings=findings)


def _review(grading: GradingContext, prepared: Prepared, clock: Clock) -> Review:
    try:
        submission = _submission(prepared)
        outcome = (
            _through_stages(grading, prepared, submission, clock)
            if submission is not None
            else _without_code(grading, prepared)
        )
        reference = reference_kernel(grading, prepared.task, prepared.submission, clock)
        return assemble(grading, prepared, outcome, reference, clock)
    except Exception as error:  # noqa: BLE001 - as in `assess`
        failed = unbuilt(grading, prepared.extraction, our_failure(error))
        return assemble(grading, prepared, Outcome(failed, prepared.task), None, clock)


def _submission(prepared: Prepared) -> Submission | None:
    """Return the submission to judge; raises an earlier failure of the grader."""
    if prepared.failure is not None:
        raise prepared.failure
    return prepared.submission


def _through_stages(
    grading: GradingContext, prepared: Prepared, submission: Submission, clock: Clock
) -> Outcome:
    with clock.stage("evaluate"):
        settled = examine_at_sizes_that_decide(examiner_of(grading, prepared), submission)
    states = diagnose_program(settled.examiner, settled.program, clock, settled.budget)
    repaired = repair_program(replace(settled.examiner, budget=None), states, clock)
    evaluation, task = states[0].evaluation, settled.examiner.task
    found = repaired.repair, repaired.note, repaired.in_vain, repaired.left
    return Outcome(evaluation, task, states, *found)


def _without_code(grading: GradingContext, prepared: Prepared) -> Outcome:
    verdict = no_code(prepared.sample, prepared.extraction)
    return Outcome(unbuilt(grading, prepared.extraction, verdict), prepared.task)
