"""The review of one sample, put together from what its stages found."""

from __future__ import annotations

from collections.abc import Mapping

from grader import judge
from grader.diagnose import Program, gather, headline, mends, self_review
from grader.diagnose.claims import check_claims
from grader.ingest import as_it_came
from grader.pipeline.clock import Clock
from grader.pipeline.workshop import (
    Workshop,
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
    workshop: Workshop,
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
    """Return the review; `states` are the submission and its mended forms, in order.

    `note` says why there is no mend, `reference_note` why there is no reference-fixed kernel, `trouble`
    which rules could not be asked.
    """
    submission = extraction.submission
    findings = gather(states) if states else ()
    if submission is not None:
        findings = located(findings, submission, repairs)
    findings = judge.in_keeping(evaluation.verdict, findings)
    told = headline(_for_kernelbench(sample, extraction, evaluation.verdict), findings)
    evaluation = evaluation.model_copy(update={"verdict": told})
    summary = _summary(workshop, told, findings) if states else ""
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
        mends=mends(states) if states else (),
        repairs=repairs,
        repair_note=note,
        reference_note=reference_note,
        claims=check_claims(
            extraction, parse(submission.code) if submission else None, evaluation, findings
        ),
        self_review=self_review(extraction, states, findings),
        summary=summary,
        environment=_environment(workshop),
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


def _summary(workshop: Workshop, verdict: Verdict, findings: tuple[Finding, ...]) -> str:
    if not workshop.options.llm or not findings:
        return ""
    try:
        return summarise(verdict, findings, Model(workshop.options.llm))
    except ModelError as error:
        return f"(no summary: {error})"


def _environment(workshop: Workshop) -> Mapping[str, str]:
    facts = workshop.device.facts if workshop.device else {"device": workshop.no_device}
    return {**facts, "seed of the inputs": str(workshop.seed)}


def bare(workshop: Workshop, extraction: Extraction, verdict: Verdict) -> Evaluation:
    """Return an evaluation of what was never built: a verdict and nothing else."""
    return Evaluation(
        submission=extraction.submission.key if extraction.submission else "",
        device="none",
        sandbox=workshop.form.name,
        verdict=verdict,
    )
