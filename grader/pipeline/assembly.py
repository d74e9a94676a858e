"""The review of one sample, put together from what its stages found."""

from __future__ import annotations

from collections.abc import Mapping

from grader import judge
from grader.diagnose import Program, fixes, gather, headline, self_review
from grader.diagnose.claims import check_claims
from grader.ingest import as_it_came
from grader.pipeline.clock import Clock
from grader.pipeline.context import (
    GradingContext,
)
from grader.records import (
    Evaluation,
    Extraction,
    Finding,
    Repair,
    Review,
    Sample,
    Submission,
    Task,
    TaskChoice,
    TaskSummary,
    Verdict,
)
from grader.repair import (
    Model,
    ModelError,
    located,
    summarise,
)
from grader.source import parse


def assemble(
    grading: GradingContext,
    sample: Sample,
    extraction: Extraction,
    choice: TaskChoice,
    evaluation: Evaluation,
    clock: Clock,
    states: tuple[Program, ...] = (),
    repairs: tuple[Repair, ...] = (),
    note: str = "",
    reference_note: str = "",
    trouble: tuple[str, ...] = (),
) -> Review:
    """Return the review; `states` are the submission and its fixed forms, in order.

    `note` says why there is no fix, `reference_note` why there is no reference-fixed kernel, `trouble`
    which rules could not be asked.
    """
    submission = extraction.submission
    findings = gather(states) if states else ()
    if submission is not None:
        findings = located(findings, submission, repairs)
    findings = judge.in_keeping(evaluation.verdict, findings)
    told = headline(_for_kernelbench(sample, extraction, evaluation.verdict), findings)
    evaluation = evaluation.model_copy(update={"verdict": told})
    summary = _summary(grading, told, findings) if states else ""
    return Review(
        sample=sample.id,
        origin=sample.origin,
        format=sample.format,
        text=sample.text,
        code=submission.code if submission else None,
        line_map=submission.line_map if submission else (),
        how=submission.how if submission else extraction.found,
        notes=(*_notes(sample, submission, choice.task), *trouble),
        task=_of_the_task(choice),
        evaluation=evaluation.model_copy(
            update={"seconds": {**evaluation.seconds, **clock.seconds}}
        ),
        findings=findings,
        fixes=fixes(states) if states else (),
        repairs=repairs,
        repair_note=note,
        reference_note=reference_note,
        claims=check_claims(
            extraction, parse(submission.code) if submission else None, evaluation, findings
        ),
        self_review=self_review(extraction, states, findings),
        summary=summary,
        environment=_environment(grading),
    )


def _for_kernelbench(sample: Sample, extraction: Extraction, verdict: Verdict) -> Verdict:
    """Return the verdict with what KernelBench would say of the sample as it came.

    Nothing is known where it would run another program than the one that was graded.
    """
    if verdict.status == "grader_error":
        return verdict
    there = as_it_came(sample, extraction)
    if not there.runs:
        reasons = (*verdict.reasons, there.why)
        return verdict.model_copy(update={"kernelbench": False, "reasons": reasons})
    known = verdict.kernelbench if there.is_ours else None
    return verdict.model_copy(update={"kernelbench": known})


def _notes(sample: Sample, submission: Submission | None, task: Task | None) -> tuple[str, ...]:
    """Return what was noted on the sample, its code, and a task that isn't built in."""
    return (
        *sample.notes,
        *(submission.notes if submission else ()),
        *(task.notes if task and task.source != "builtin" else ()),
    )


def _of_the_task(choice: TaskChoice) -> TaskSummary:
    task = choice.task
    return TaskSummary(
        name=task.name if task else None,
        source=choice.how,
        reason=choice.reason,
        confidence=choice.confidence,
        title=task.title if task else "",
        weak=task.weak if task else (),
        reference=task.reference if task else "",
    )


def _summary(grading: GradingContext, verdict: Verdict, findings: tuple[Finding, ...]) -> str:
    if not grading.options.llm or not findings:
        return ""
    try:
        return summarise(verdict, findings, Model(grading.options.llm))
    except ModelError as error:
        return f"(no summary: {error})"


def _environment(grading: GradingContext) -> Mapping[str, str]:
    facts = grading.device.facts if grading.device else {"device": grading.no_device}
    return {**facts, "seed of the inputs": str(grading.seed)}


def bare(grading: GradingContext, extraction: Extraction, verdict: Verdict) -> Evaluation:
    """Return an evaluation of what was never built: a verdict and nothing else."""
    return Evaluation(
        submission=extraction.submission.key if extraction.submission else "",
        device="none",
        sandbox=grading.form.name,
        verdict=verdict,
    )
