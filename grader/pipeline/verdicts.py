"""The judge's verdict under the options of a run."""

from __future__ import annotations

from collections.abc import Sequence

from grader import judge
from grader.pipeline.context import GradingContext
from grader.pipeline.exactness import withdraw_exact
from grader.records import (
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Extraction,
    Finding,
    Run,
    Sample,
    Task,
    Verdict,
)


def verdict_of(
    grading: GradingContext,
    task: Task | None,
    build: Build | None,
    runs: tuple[Run, ...],
    comparisons: Sequence[Comparison],
    probes: tuple[Evidence, ...],
    *,
    checked: tuple[Run, ...] = (),
    rejected: tuple[str, ...] = (),
    dishonest: tuple[str, ...] = (),
) -> Verdict:
    """Return the judge's verdict under the run's options."""
    return judge.verdict(
        task=task,
        build=build,
        runs=runs,
        comparisons=comparisons,
        shapes=grading.options.shapes,
        no_device=grading.no_device,
        rejected=rejected,
        dishonest=dishonest,
        probes=probes,
        checked=checked,
    )


def weigh_verdict(
    grading: GradingContext,
    task: Task | None,
    evaluation: Evaluation,
    findings: tuple[Finding, ...],
) -> Evaluation:
    """Return the evaluation with a verdict that also weighs honesty."""
    found = judge.suspicions(evaluation, findings, grading.options.policy)
    verdict = evaluation.verdict
    if found.rejected or found.dishonest:
        verdict = verdict_of(
            grading,
            task,
            evaluation.build,
            evaluation.runs,
            evaluation.comparisons,
            evaluation.probes,
            checked=evaluation.checked,
            rejected=found.rejected,
            dishonest=found.dishonest,
        )
    elif found.notes:
        verdict = judge.add_notes(verdict, found.notes)
    return withdraw_exact(evaluation.model_copy(update={"verdict": verdict}))


def our_failure(error: Exception) -> Verdict:
    """Return the verdict for a failure of the grader itself."""
    return Verdict(
        status="grader_error",
        sentence="The grader itself failed; this says nothing about the submission.",
        reasons=(f"{type(error).__name__}: {error}",),
    )


def no_code(sample: Sample, extraction: Extraction) -> Verdict:
    """Return the verdict on a sample without code, or whose file could not be read."""
    if sample.unreadable:
        return Verdict(
            status="grader_error",
            sentence="Its file could not be read; this says nothing about the submission.",
            reasons=(sample.unreadable,),
        )
    return Verdict(status="no_code", sentence=f"There is no code to grade: {extraction.found}.")


def unbuilt(grading: GradingContext, extraction: Extraction, verdict: Verdict) -> Evaluation:
    """Return the evaluation of a program that was never built, with a verdict only."""
    return Evaluation(
        submission=extraction.submission.key if extraction.submission else "",
        device="none",
        sandbox=grading.form.name,
        verdict=verdict,
    )
